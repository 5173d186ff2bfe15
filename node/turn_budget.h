// How long a turn may go on.
#pragma once

#include <cstdint>

#include <ergon/core/clock.h>

namespace ergon::node {

// A turn handles `throughput` messages. Quick handlers may go on until it has lasted `turn_ns`:
// what costs most about a short turn is that the next process finds other data in the caches. How
// quick they are is measured over the second half of the messages, so that the many turns that
// handle only a few read no clock.
class TurnBudget {
 public:
  // `turn_ns` 0: exactly `throughput` messages.
  TurnBudget(int throughput, std::int64_t turn_ns) noexcept
      : throughput_(throughput),
        turn_ns_(turn_ns),
        left_(turn_ns == 0 ? throughput : throughput - throughput / 2),
        phase_(turn_ns == 0 || throughput == 1 ? Phase::kLast : Phase::kFirstHalf) {}

  // After each message: true if the turn may handle another one.
  [[nodiscard]] bool Spend() noexcept {
    if (--left_ > 0) [[likely]]
      return true;
    return phase_ != Phase::kLast && Extend();
  }

 private:
  enum class Phase : std::uint8_t { kFirstHalf, kSecondHalf, kExtended, kLast };

  bool Extend() noexcept {
    // Not the node's clock, which may stand still: this is about the machine.
    const std::int64_t now = core::SteadyNow();
    if (phase_ == Phase::kFirstHalf) {
      started_ = now;
      left_ = throughput_ / 2;
      phase_ = Phase::kSecondHalf;
      return true;
    }
    if (phase_ == Phase::kSecondHalf) started_ -= now - started_;  // the first half took as long
    phase_ = Phase::kExtended;
    left_ = throughput_;
    return now - started_ < turn_ns_;
  }

  const int throughput_;
  const std::int64_t turn_ns_;
  int left_;
  Phase phase_;
  std::int64_t started_ = 0;
};

}  // namespace ergon::node
