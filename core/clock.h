// Time as the runtime sees it: nanoseconds that only ever grow.
//
// Everything that measures or waits takes a `Clock` as an argument, so that a simulation can control the time. A
// reading is never negative; its zero means nothing, only differences do.
#pragma once

#include <atomic>
#include <cstdint>

namespace ergon::core {

// How far `Clock::CoarseNow` may lag behind `Clock::Now`.
inline constexpr int64_t kCoarseLag = 10'000'000;

// The time that never comes: the deadline of "no deadline".
inline constexpr int64_t kNever = INT64_MAX;

// Any thread may read any clock. If Now or CoarseNow throws where the runtime itself asks, as at the beginning of a
// turn, the program ends; a function of the process or of the node, such as Call or Sleep, passes the exception on.
class Clock {
 public:
  virtual ~Clock() = default;

  // Returns the time in nanoseconds; monotonic.
  [[nodiscard]] virtual int64_t Now() const = 0;

  // Returns the time more cheaply than `Now`: never ahead of it, and up to `kCoarseLag` behind. A deadline computed
  // from it comes that much too early, so it is fit for statistics and for generous time-outs.
  [[nodiscard]] virtual int64_t CoarseNow() const { return Now(); }

 protected:
  Clock() = default;
  Clock(const Clock&) = default;
  Clock& operator=(const Clock&) = default;
};

// Returns the machine's monotonic time, which stands still while the machine is suspended: for measurements of the
// machine and not of a node's time. May be called from any thread.
[[nodiscard]] int64_t SteadyNow() noexcept;

// As SteadyNow, but cheaper and up to `kCoarseLag` behind: the time of the kernel's last tick.
[[nodiscard]] int64_t SteadyCoarseNow() noexcept;

// SteadyNow as a clock.
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
