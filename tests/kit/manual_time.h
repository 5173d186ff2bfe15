// Time that passes only when the test says so, for what happens when a time is up.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <ergon/core/clock.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/node_options.h>

#include <kit/eventually.h>

namespace ergon::kit {

// A node's. However slow the machine is, no time-out expires before the test has seen what it waits for.
class ManualTime {
 public:
  [[nodiscard]] gen::NodeOptions Into(gen::NodeOptions options = {}) const {
    options.clock = clock_;
    options.timers = timers_;
    return options;
  }

  // Since the beginning; ns.
  [[nodiscard]] std::int64_t Now() const { return clock_->Now(); }

  // One thread at a time. What is due by then has been fired when it returns; what that has sent may
  // still be on its way.
  void Pass(std::chrono::nanoseconds time) const {
    clock_->AdvanceBy(time.count());
    timers_->RunDue();
  }
  // Waits for a condition that takes as many such steps as it wants.
  template <class Condition>
  [[nodiscard]] bool PassUntil(Condition condition, std::chrono::nanoseconds step) const {
    return Eventually([&] {
      if (condition()) return true;
      Pass(step);
      return false;
    });
  }

 private:
  const std::shared_ptr<core::ManualClock> clock_ = std::make_shared<core::ManualClock>();
  const std::shared_ptr<core::TimerQueue> timers_ = std::make_shared<core::TimerQueue>(*clock_);
};

}  // namespace ergon::kit
