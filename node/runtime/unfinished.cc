#include <ergon/node/runtime/unfinished.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <unordered_map>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/gen/process_info.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/diagnosis/for_people.h>

namespace ergon::node {
namespace {

std::string MessagesWait(std::uint64_t messages) {
  return fmt::format("{} {}", core::Counted(messages, "message", "messages"),
                     messages == 1 ? "waits" : "wait");
}

template <class Work>
void PutBusiestFirst(std::vector<Work>& works) {
  std::ranges::stable_sort(works, std::ranges::greater(), [](const Work& work) {
    return std::tuple(work.is_in_handler, work.messages);
  });
}

}  // namespace

Unfinished::Work Unfinished::WorkOf(const ProcessSlot& process, gen::PID pid) {
  std::uint64_t main = process.MainMessagesApprox();
  // The order to end waits there, too.
  if (main != 0 && !process.IsPool() && process.end_requests().IsAskedToStop(GenerationOf(pid)))
    --main;
  return {.pid = pid,
          .is_in_handler = process.activity().IsInHandler(),
          .messages = main + process.ExpressQueuedApprox() + process.AsideApprox()};
}

std::vector<Unfinished::Work> Unfinished::WorkBelow(gen::PID pid) const {
  std::unordered_map<std::uint64_t, std::uint64_t> parents;
  std::vector<Work> works;
  addresses_.table().ForEach([&](const ProcessSlot& process) {
    const gen::PID at = addresses_.PidOf(process.Id());  // first: it changes when the process ends
    if (process.mailbox().IsClosed()) return;
    parents.emplace(at.id, process.parent_id());
    const Work work = WorkOf(process, at);
    if (work.is_in_handler || work.messages != 0) works.push_back(work);
  });
  const auto is_elsewhere = [&](const Work& work) {
    auto at = parents.find(work.pid.id);
    // Processes begin and end meanwhile: a circle, if there could be one, ends all the same.
    for (std::size_t steps = 0; at != parents.end() && steps < parents.size(); ++steps) {
      if (at->second == pid.id) return false;
      at = parents.find(at->second);
    }
    return true;
  };
  std::erase_if(works, is_elsewhere);
  PutBusiestFirst(works);
  return works;
}

std::string Unfinished::Describe(const Work& work) const {
  const ProcessSlot* const process = addresses_.Find(work.pid);
  std::string text = AsInItsLines(addresses_, work.pid);
  if (process == nullptr) return text;
  const Activity& activity = process->activity();
  text += fmt::format(", {}", gen::ToString(process->State()));
  if (work.is_in_handler) text += fmt::format(": {}", HandledFor(activity, clock_));
  if (work.messages != 0) text += "; " + MessagesWait(work.messages);
  return text;
}

std::string Unfinished::Waited(gen::PID pid) const {
  const ProcessSlot* const process = addresses_.Find(pid);
  if (process == nullptr) return "";
  const Work own = WorkOf(*process, pid);
  std::string text = Describe(own);
  if (own.is_in_handler || own.messages != 0) return text;
  const std::vector<Work> below = WorkBelow(pid);
  if (below.empty()) return text;
  text += ", which waits for " + Describe(below.front());
  if (below.size() > 1) {
    text +=
        fmt::format(", and for {} more", core::Counted(below.size() - 1, "process", "processes"));
  }
  return text;
}

std::string Unfinished::Left(const std::vector<gen::PID>& pids) const {
  std::vector<Work> works;
  std::uint64_t messages = 0;
  for (const gen::PID pid : pids) {
    const ProcessSlot* const process = addresses_.Find(pid);
    works.push_back(process == nullptr ? Work{.pid = pid} : WorkOf(*process, pid));
    messages += works.back().messages;
  }
  PutBusiestFirst(works);
  constexpr std::size_t kNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(works.size(), kNamed); ++i) {
    text += (text.empty() ? "" : ", ") + Describe(works[i]);
  }
  if (works.size() > kNamed) text += ", ...";
  if (messages != 0) text += fmt::format(" (all together: {})", MessagesWait(messages));
  return text;
}

}  // namespace ergon::node
