// How long a turn may go on.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ergon/core/clock.h>
#include <ergon/core/dispatcher.h>

namespace ergon::node {

// The memory of a process from one turn to the next: a byte.
class TurnPace {
 public:
  // Notes that the process has been slow: each of the next messages is measured.
  void Watch() noexcept { watched_ = kWatched; }
  void NoteQuick() noexcept {
    if (watched_ > 0) --watched_;
  }
  [[nodiscard]] bool IsWatched() const noexcept { return watched_ > 0; }

  // Notes that a handler has waited, and others had the thread meanwhile: the time slice begins anew.
  void NoteWait() noexcept { has_waited_ = true; }
  [[nodiscard]] bool TakeWait() noexcept {
    const bool has_waited = has_waited_;
    has_waited_ = false;
    return has_waited;
  }

 private:
  static constexpr std::uint8_t kWatched = 32;

  std::uint8_t watched_ : 7 = 0;
  bool has_waited_ : 1 = false;
};
static_assert(sizeof(TurnPace) == 1);

// Not the node's clock, which may stand still: the budget is about the machine.
struct MachineTime {
  static std::int64_t Now() noexcept { return core::SteadyNow(); }
  static std::int64_t CoarseNow() noexcept { return core::SteadyCoarseNow(); }
};

// A turn handles `throughput` messages. Quick handlers may go on until it has lasted `turn_ns`:
// what costs most about a short turn is that the next process finds other data in the caches. How
// quick they are is measured over the second half of the messages, so that the many turns that
// handle only a few do not read the exact clock.
//
// Slow handlers end it before that, after `turn_limit_ns`. To read the exact clock after each message
// would cost more than many a handler. So a process that has been quick is looked at after every few
// messages, with the coarse clock: that costs a sixth, but stands still for 1 to 10 ms, from one tick
// of the kernel to the next. Once a process is found to be slow, it is watched: each message is
// measured exactly, until a number of them in a row have been quick.
template <class Time>
class BasicTurnBudget {
 public:
  // Messages between two looks at a process that has been quick; fewer before the first one, so that
  // a process that has only slow handlers is known soon.
  static constexpr int kStride = 16;
  static constexpr int kFirstStride = 4;

  // `throughput` is that of the options. `coarse_now` is Time::CoarseNow(), or Worker::TurnTime. What follows is to be
  // called with the same options and pace each time. They are not kept here: the many turns of few messages need
  // neither.
  BasicTurnBudget(int throughput, std::int64_t coarse_now) noexcept
      : began_(coarse_now), left_(FirstStride(throughput)) {}

  // To be called before the first message of a process whose pace is watched.
  void Watch(const core::DispatcherOptions& options, TurnPace& pace) noexcept {
    phase_ = Phase::kWatched;
    left_ = 1;
    ahead_ = options.throughput;
    (void)pace.TakeWait();  // of a former turn
    started_ = last_ = Time::Now();
  }

  // Returns whether the message that is counted next is looked at. A turn that ends with it must not leave that out:
  // the looks tell whether the process is slow, and whether it has become quick again.
  [[nodiscard]] bool LooksNext() const noexcept { return left_ <= 1; }
  // Counts a message. Returns true if the turn may handle another one; otherwise Look tells whether it may.
  [[nodiscard]] bool Spend() noexcept { return --left_ > 0; }

  // Uses `throughput`, `turn_ns` (0: exactly `throughput` messages) and `turn_limit_ns` (0: none) of the options.
  [[nodiscard]] bool Look(const core::DispatcherOptions& options, TurnPace& pace) noexcept {
    if (options.throughput == 1) return false;
    if (phase_ == Phase::kWatched) return LookWatched(options, pace);
    if (phase_ == Phase::kFirst) {
      phase_ = Phase::kFirstHalf;
      const int throughput = options.throughput;
      ahead_ = (options.turn_ns == 0 ? throughput : Half(throughput)) - FirstStride(throughput);
    }
    if (HasLimit(options)) {
      const std::int64_t now = Time::CoarseNow();
      if (pace.TakeWait()) {
        began_ = now;
        has_waited_ = true;
      }
      if (now - began_ >= options.turn_limit_ns) {
        pace.Watch();
        return false;
      }
    }
    if (ahead_ == 0 && !Extend(options, pace)) return false;
    Stride(options, kStride);
    return true;
  }

 private:
  enum class Phase : std::uint8_t { kFirst, kFirstHalf, kSecondHalf, kExtended, kWatched };

  static int Half(int throughput) noexcept {
    return static_cast<int>((static_cast<unsigned>(throughput) + 1) / 2);
  }
  static int FirstStride(int throughput) noexcept {
    if (throughput >= 2 * kFirstStride) [[likely]]
      return kFirstStride;
    return Half(throughput);
  }

  static bool HasLimit(const core::DispatcherOptions& options) noexcept {
    return options.turn_limit_ns != 0;
  }

  void Stride(const core::DispatcherOptions& options, int most) noexcept {
    left_ = HasLimit(options) ? std::min(most, ahead_) : ahead_;
    ahead_ -= left_;
  }

  // Returns true if the turn may go on for another `ahead_` messages.
  bool Extend(const core::DispatcherOptions& options, TurnPace& pace) noexcept {
    if (options.turn_ns == 0) return false;
    const std::int64_t now = Time::Now();
    if (phase_ == Phase::kFirstHalf) {
      started_ = now;
      ahead_ = options.throughput / 2;
      phase_ = Phase::kSecondHalf;
      return true;
    }
    if (phase_ == Phase::kSecondHalf) {
      started_ -= now - started_;  // the first half took as long
      if (HasLimit(options) && !has_waited_ && now - started_ >= options.turn_limit_ns) {
        pace.Watch();
      }
    }
    phase_ = Phase::kExtended;
    ahead_ = options.throughput;
    const std::int64_t longest =
        HasLimit(options) ? std::min(options.turn_ns, options.turn_limit_ns) : options.turn_ns;
    return now - started_ < longest;
  }

  bool LookWatched(const core::DispatcherOptions& options, TurnPace& pace) noexcept {
    left_ = 1;
    const std::int64_t now = Time::Now();
    const bool has_waited = pace.TakeWait();
    if (has_waited) started_ = now;
    if (!has_waited && now - last_ >= options.turn_limit_ns / options.throughput) {
      pace.Watch();
    } else {
      pace.NoteQuick();
    }
    last_ = now;
    const std::int64_t lasted = now - started_;
    if (lasted >= options.turn_limit_ns) return false;
    if (ahead_ > 0) --ahead_;
    return ahead_ > 0 || (!has_waited && lasted < options.turn_ns);
  }

  std::int64_t began_;  // by the coarse clock
  int left_;            // messages until the next look
  Phase phase_ = Phase::kFirst;
  bool has_waited_ = false;
  // Set where they are first needed.
  int ahead_;             // after `left_`, until the next exact look
  std::int64_t started_;  // since the second half, or watched
  std::int64_t last_;     // watched: when the last message was done
};

using TurnBudget = BasicTurnBudget<MachineTime>;

}  // namespace ergon::node
