// Time as the runtime sees it: nanoseconds that only ever grow.
//
// Everything that measures or waits takes a `Clock` as an argument, so that a simulation can own
// the time. A reading is never negative; its zero means nothing, only differences do.
#pragma once

#include <atomic>
#include <cstdint>

namespace ergon::core {

// How far `Clock::CoarseNow` may lag behind `Clock::Now`.
inline constexpr int64_t kCoarseLag = 10'000'000;

// The time that never comes: the deadline of "no deadline".
inline constexpr int64_t kNever = INT64_MAX;

// Any thread may read any clock.
class Clock {
 public:
  virtual ~Clock() = default;

  // Nanoseconds, monotonic.
  [[nodiscard]] virtual int64_t Now() const = 0;

  // Cheaper than `Now`, never ahead of it, and up to `kCoarseLag` behind. A deadline computed from
  // it comes that much too early: fit for statistics and for generous timeouts.
  [[nodiscard]] virtual int64_t CoarseNow() const { return Now(); }

 protected:
  Clock() = default;
  Clock(const Clock&) = default;
  Clock& operator=(const Clock&) = default;
};

// The machine's monotonic time, which stands still while the machine is suspended: for what is about
// the machine, and not about a node's time. Any thread.
[[nodiscard]] int64_t SteadyNow() noexcept;

// That, cheaper and up to `kCoarseLag` behind: the time of the kernel's last tick.
[[nodiscard]] int64_t SteadyCoarseNow() noexcept;

// That as a clock.
class SteadyClock final : public Clock {
 public:
  [[nodiscard]] int64_t Now() const override;
  [[nodiscard]] int64_t CoarseNow() const override;
};

// A clock that moves only when it is told to. Any thread may advance it.
class ManualClock final : public Clock {
 public:
  // `start` must not be negative.
  explicit ManualClock(int64_t start = 0);
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  [[nodiscard]] int64_t Now() const override;

  // Moves the clock to `time`; a time that has already passed changes nothing.
  void AdvanceTo(int64_t time);

  // Moves the clock by `duration`, at most to `kNever`; zero and less change nothing.
  void AdvanceBy(int64_t duration);

 private:
  std::atomic<int64_t> now_;
};

}  // namespace ergon::core
