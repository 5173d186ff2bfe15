// The log levels of behaviours that the node's options give.
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

// Maps the names of behaviours, as their log lines show them, to levels. Any thread.
class BehaviorLevels {
 public:
  explicit BehaviorLevels(BehaviorLogLevels levels)
      : levels_(std::move(levels)), any_(levels_.empty() ? 0 : 1) {}

  // Sets the level of a process with the behaviour, if there is one for it. The process must be in the table already,
  // so that Add's caller finds it afterwards.
  void Give(const gen::ProcessBehavior& behavior, std::atomic<std::uint8_t>& level) const {
    // Acquire and release; partner: Add. Both change any_, so one of them comes first: either Add, and there is a level
    // here; or this, and Add's caller sees all that the process has written before, including its slot and its PID. A
    // load would not do: it has no order with Add's change, and both could miss the process.
    if (any_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    const std::string name = gen::BehaviorNameOf(behavior);
    std::lock_guard lock(mutex_);
    const auto found = levels_.find(name);
    if (found != levels_.end()) level.store(ValueOf(found->second), std::memory_order_relaxed);
  }
  // Adds the levels of `further`, and returns the levels before.
  BehaviorLogLevels Add(const BehaviorLogLevels& further) {
    std::lock_guard lock(mutex_);
    BehaviorLogLevels before = levels_;
    for (const auto& [name, level] : further) levels_[name] = level;
    // Acquire and release; partner: Give. It must not be a store, which would see nothing of what Give has released.
    if (!levels_.empty()) any_.fetch_or(1, std::memory_order_acq_rel);
    return before;
  }

  // Returns a level as ProcessSlot::own_log_level has it.
  [[nodiscard]] static std::uint8_t ValueOf(std::optional<gen::LogLevel> level) noexcept {
    return level ? static_cast<std::uint8_t>(*level) : ProcessSlot::kNodeLogLevel;
  }

 private:
  mutable std::mutex mutex_;
  BehaviorLogLevels levels_;
  mutable std::atomic<std::uint32_t> any_;  // 0: there are no levels, and a spawn takes no lock
};

}  // namespace ergon::node
