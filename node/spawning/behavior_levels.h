// What the node's options say of log levels.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <ergon/gen/process_behavior.h>
#include <ergon/node/options/log_level_keys.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// By the names of behaviours, as their log lines have them. Any thread.
class BehaviorLevels {
 public:
  explicit BehaviorLevels(BehaviorLogLevels levels)
      : levels_(std::move(levels)), any_(levels_.empty() ? 0 : 1) {}

  // Sets the level of a process with the behaviour, if there is one for it. The process must be one already that Add's
  // caller finds afterwards.
  void Give(const gen::ProcessBehavior& behavior, std::atomic<std::uint8_t>& level) const {
    // Acquire and release; partner: Add. Both change any_, so one of them comes first: Add, and there is a level here; or
    // this, and Add's caller sees all that the process has written before, its slot and its PID, too. A load would not do:
    // what has no order of its own could be seen later than any_, and the process be missed by both.
    if (any_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    const std::string name = gen::BehaviorNameOf(behavior);
    std::lock_guard lock(mutex_);
    const auto found = levels_.find(name);
    if (found != levels_.end()) level.store(ValueOf(found->second), std::memory_order_relaxed);
  }
  // Adds what `further` says, and returns what there was before.
  BehaviorLogLevels Add(const BehaviorLogLevels& further) {
    std::lock_guard lock(mutex_);
    BehaviorLogLevels before = levels_;
    for (const auto& [name, level] : further) levels_[name] = level;
    // Acquire and release; partner: Give. It must not be a store, which would see nothing of what Give has released.
    if (!levels_.empty()) any_.fetch_or(1, std::memory_order_acq_rel);
    return before;
  }

  // As ProcessSlot::own_log_level has it.
  [[nodiscard]] static std::uint8_t ValueOf(std::optional<gen::LogLevel> level) noexcept {
    return level ? static_cast<std::uint8_t>(*level) : ProcessSlot::kNodeLogLevel;
  }

 private:
  mutable std::mutex mutex_;
  BehaviorLogLevels levels_;
  mutable std::atomic<std::uint32_t> any_;  // 0: there are none, and a spawn takes no lock
};

}  // namespace ergon::node
