// The time of day, as a node sees it.
#pragma once

#include <chrono>
#include <functional>

#include <ergon/core/clock.h>

namespace ergon::node {

// Any thread, if the user's function allows it.
class WallClock {
 public:
  using Time = std::chrono::system_clock::time_point;

  // `own`: the user's, or empty. Else the machine's; for a node with a clock of its own (`clock`, not
  // null) what that shows since the epoch.
  WallClock(std::function<Time()> own, const core::Clock* clock)
      : own_(std::move(own)), clock_(clock) {}

  [[nodiscard]] Time Now() const {
    using std::chrono::system_clock;
    if (own_) return own_();
    if (clock_ == nullptr) return system_clock::now();
    return Time(std::chrono::duration_cast<system_clock::duration>(
        std::chrono::nanoseconds(clock_->Now())));
  }

 private:
  const std::function<Time()> own_;
  const core::Clock* const clock_;
};

}  // namespace ergon::node
