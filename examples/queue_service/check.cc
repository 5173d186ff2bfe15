#include "check.h"

#include <algorithm>
#include <deque>

#include <fmt/core.h>

namespace queue_service {
namespace {

std::string Text(const std::optional<Item>& item) {
  return item ? fmt::format("item {}", *item) : "nothing";
}

}  // namespace

Verdict Check(const std::vector<History>& histories) {
  History all;
  for (const History& history : histories) all.insert(all.end(), history.begin(), history.end());
  std::sort(all.begin(), all.end(), [](const Operation& left, const Operation& right) {
    return left.done.order < right.done.order;
  });

  Verdict verdict;
  std::deque<Item> queue;
  for (const auto& [is_put, done] : all) {
    if (done.order != ++verdict.operations) {
      verdict.problem = fmt::format("operation {} is missing or came twice", verdict.operations);
      return verdict;
    }
    std::optional<Item> expected = done.item;
    if (is_put) {
      queue.push_back(*done.item);
      ++verdict.put;
    } else if (queue.empty()) {
      expected.reset();
      ++verdict.missed;
    } else {
      expected = queue.front();
      queue.pop_front();
      ++verdict.taken;
    }
    if (done.item != expected) {
      verdict.problem = fmt::format("operation {} took {}, a std::deque {}", done.order,
                                    Text(done.item), Text(expected));
      return verdict;
    }
    verdict.longest = std::max<std::uint64_t>(verdict.longest, queue.size());
  }
  verdict.left = queue.size();
  return verdict;
}

}  // namespace queue_service
