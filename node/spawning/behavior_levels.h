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
#include <ergon/node/spawning/spawn_gate.h>

namespace ergon::node {

// Maps the names of behaviours, as their log lines show them, to levels. Any thread.
class BehaviorLevels {
 public:
  // `gate` outlives this.
  BehaviorLevels(BehaviorLogLevels levels, SpawnGate& gate)
      : levels_(std::move(levels)), gate_(gate) {
    if (!levels_.empty()) gate_.NoteLevels();
  }

  // Sets the level of a process with the behaviour, if there is one for it. For a process whose entry at the gate says
  // that there are levels: Add's caller finds all others.
  void Give(const gen::ProcessBehavior& behavior, std::atomic<std::uint8_t>& level) const {
    const std::string name = gen::BehaviorNameOf(behavior);
    // With the lock: Add comes before it, and there is the level; or after it, and Add's caller sees the process.
    std::lock_guard lock(mutex_);
    const auto found = levels_.find(name);
    if (found != levels_.end()) level.store(ValueOf(found->second), std::memory_order_relaxed);
  }
  // Adds the levels of `further`, and returns the levels before.
  BehaviorLogLevels Add(const BehaviorLogLevels& further) {
    std::lock_guard lock(mutex_);
    BehaviorLogLevels before = levels_;
    for (const auto& [name, level] : further) levels_[name] = level;
    if (!levels_.empty()) gate_.NoteLevels();
    return before;
  }

  // Returns a level as ProcessSlot::own_log_level has it.
  [[nodiscard]] static std::uint8_t ValueOf(std::optional<gen::LogLevel> level) noexcept {
    return level ? static_cast<std::uint8_t>(*level) : ProcessSlot::kNodeLogLevel;
  }

 private:
  mutable std::mutex mutex_;
  BehaviorLogLevels levels_;
  SpawnGate& gate_;  // without levels, a spawn takes no lock
};

}  // namespace ergon::node
