#include <ergon/node/process_state/awaited_responses.h>

namespace ergon::node {

void AwaitedResponses::Add(std::uint64_t id, std::uint32_t generation) {
  std::lock_guard lock(mutex_);
  entries_[id].awaited.generation = generation;
}

void AwaitedResponses::Arm(std::uint64_t id, core::TimerQueue& timers, std::int64_t deadline,
                           core::Timer::Fire fire, void* context) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  core::Timer& timer = found->second.timer;
  timer.fire = fire;
  timer.context = context;
  timer.argument = id;
  // Armed under the lock: Take finds the timer armed, or not at all.
  timers.Arm(timer, deadline);
}

AwaitedResponses::Awaited AwaitedResponses::Take(std::uint64_t id, core::TimerQueue& timers) {
  decltype(entries_)::node_type node;
  {
    std::lock_guard lock(mutex_);
    node = entries_.extract(id);
  }
  if (node.empty()) return {};
  // A timer that is firing finds nobody under this id.
  (void)timers.Disarm(node.mapped().timer);
  return node.mapped().awaited;
}

bool AwaitedResponses::NoteBegun(std::uint64_t id) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return false;
  found->second.awaited.begun = true;
  return true;
}

bool AwaitedResponses::Contains(std::uint64_t id) const {
  std::lock_guard lock(mutex_);
  return entries_.contains(id);
}

bool AwaitedResponses::IsEmpty() const {
  std::lock_guard lock(mutex_);
  return entries_.empty();
}

void AwaitedResponses::Clear(core::TimerQueue& timers) {
  decltype(entries_) entries;
  {
    std::lock_guard lock(mutex_);
    entries.swap(entries_);
  }
  for (auto& [id, entry] : entries) (void)timers.Disarm(entry.timer);
}

}  // namespace ergon::node
