#include "stats.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/core.h>

#include "text.h"

namespace treesum {
namespace {

// The others follow by name.
constexpr std::string_view kFirstKeys[] = {
    "pool_size",       "worker_behavior",    "worker_mailbox_size",
    "worker_restarts", "messages_forwarded", "messages_unhandled",
};

}  // namespace

std::string DescribeRun(const RunResult& result) {
  const Summary& summary = result.summary;
  std::string text = fmt::format("{}, {} in {}", FormatFiles(summary.files),
                                 FormatBytes(summary.bytes_read), FormatDuration(result.elapsed));
  std::string rate = FormatRate(summary.bytes_read, result.elapsed);
  if (!rate.empty()) text += " (" + rate + ")";
  if (result.links == 1) text += ", 1 link skipped";
  if (result.links > 1) text += ", " + FormatCount(result.links) + " links skipped";
  if (summary.problems.Total() > 0) text += "; " + summary.problems.ToString();
  return text;
}

std::string DescribePool(const ergon::gen::Inspection& inspection) {
  std::size_t width = 0;
  for (const auto& [key, value] : inspection) width = std::max(width, key.size());
  std::string first;
  std::string rest;
  auto line = [width](std::string_view key, std::string_view value) {
    return fmt::format("  {:<{}}  {}\n", key, width, value);
  };
  for (std::string_view key : kFirstKeys) {
    auto found = inspection.find(std::string(key));
    if (found != inspection.end()) first += line(key, found->second);
  }
  for (const auto& [key, value] : inspection) {
    if (std::ranges::find(kFirstKeys, key) == std::end(kFirstKeys)) rest += line(key, value);
  }
  return first + rest;
}

}  // namespace treesum
