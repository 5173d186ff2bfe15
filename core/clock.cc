#include <cassert>
#include <ctime>

#include <ergon/core/clock.h>

namespace ergon::core {
namespace {

int64_t Read(clockid_t id) noexcept {
  timespec time;
  clock_gettime(id, &time);  // cannot fail: both clocks exist wherever this compiles
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

int64_t SteadyNow() noexcept { return Read(CLOCK_MONOTONIC); }

// It lags by at most 1/HZ: 10 ms where HZ is 100.
int64_t SteadyCoarseNow() noexcept { return Read(CLOCK_MONOTONIC_COARSE); }

int64_t SteadyClock::Now() const { return SteadyNow(); }

int64_t SteadyClock::CoarseNow() const { return SteadyCoarseNow(); }

ManualClock::ManualClock(int64_t start) : now_(start) { assert(start >= 0); }

// Acquire pairs with the release in `AdvanceTo` and `AdvanceBy`: a thread that sees a new time also sees what was done
// before the clock was advanced.
int64_t ManualClock::Now() const { return now_.load(std::memory_order_acquire); }

void ManualClock::AdvanceTo(int64_t time) {
  int64_t now = now_.load(std::memory_order_relaxed);
  while (now < time) {
    // Release pairs with the acquire in `Now`; on failure only the number matters.
    if (now_.compare_exchange_weak(now, time, std::memory_order_release,
                                   std::memory_order_relaxed)) {
      return;
    }
  }
}

void ManualClock::AdvanceBy(int64_t duration) {
  if (duration <= 0) return;
  int64_t now = now_.load(std::memory_order_relaxed);
  int64_t time;
  do {
    time = duration > kNever - now ? kNever : now + duration;
    // Orders as in `AdvanceTo`.
  } while (
      !now_.compare_exchange_weak(now, time, std::memory_order_release, std::memory_order_relaxed));
}

}  // namespace ergon::core
