// The time of day, as a node sees it.
#pragma once

#include <chrono>
#include <functional>

#include <ergon/core/clock.h>
#include <ergon/core/foundations/tell_thrown.h>

namespace ergon::node {

// Any thread, if the user's function allows it.
class WallClock {
 public:
  using Time = std::chrono::system_clock::time_point;

  // `own`: the user's clock, or empty. Without it the machine's clock is used; for a node with a clock of its own
  // (`clock`, not null) the time that this clock shows since the epoch.
  WallClock(std::function<Time()> own, const core::Clock* clock)
      : own_(std::move(own)), clock_(clock) {}

  // Returns the time. If the user's function throws, the machine's time; the first time, standard error says so.
  [[nodiscard]] Time Now() const {
    using std::chrono::system_clock;
    if (own_) {
      Time now = system_clock::now();
      core::CallUser("wall_clock", [&] { now = own_(); });
      return now;
    }
    if (clock_ == nullptr) return system_clock::now();
    return Time(std::chrono::duration_cast<system_clock::duration>(
        std::chrono::nanoseconds(clock_->Now())));
  }

 private:
  const std::function<Time()> own_;
  const core::Clock* const clock_;
};

}  // namespace ergon::node
