// How hard a worker without work looks for work before it sleeps.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ergon::core {

// A number of looks at all queues, each after a pause. Without a pause the worker spins; otherwise it sleeps during the
// pause, and new work wakes it like any sleeper.
struct StealingPhase {
  int attempts = 0;                   // 0..1,000,000; 0: no such phase
  std::chrono::nanoseconds pause{0};  // 0..1 s
};

// The worker goes through the phases in this order. After the last one it sleeps until there is work, without a
// time-out: whatever the effort, a node without work makes no wake-ups. More effort finds work sooner and takes more
// processor time from others.
struct StealingEffort {
  StealingPhase aggressive = {};
  StealingPhase moderate = {};
  StealingPhase relaxed = {};

  // Returns whether no phase is set: then the search is limited by its time (DispatcherOptions::search_ns).
  [[nodiscard]] bool IsEmpty() const {
    return aggressive.attempts == 0 && moderate.attempts == 0 && relaxed.attempts == 0;
  }
  // Returns "" if the effort is good, else the first field that is not, with its value and range.
  [[nodiscard]] std::string Validate() const;
};

// One worker's way through the phases.
class RaidPlan {
 public:
  static constexpr std::int64_t kOver = -1;

  explicit RaidPlan(const StealingEffort& effort) : effort_(effort) {}

  void Restart() {
    phase_ = 0;
    raids_ = 0;
  }
  void Finish() { phase_ = kPhases; }
  // Returns the pause before the next raid, in nanoseconds; kOver: there is no next raid.
  [[nodiscard]] std::int64_t NextPause();

 private:
  static constexpr int kPhases = 3;

  const StealingEffort effort_;
  int phase_ = 0;
  int raids_ = 0;  // of this phase, so far
};

}  // namespace ergon::core
