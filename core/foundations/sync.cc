#include <chrono>

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <ergon/core/foundations/sync.h>

namespace ergon::core {
namespace {

constexpr int kPausesBeforeYield = 100;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

std::int64_t MonotonicNow() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "the kernel reads the word as a plain 32-bit integer");

long Futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) noexcept {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG,
                 value, timeout, nullptr, 0);
}

}  // namespace

void SpinLock::LockSlow() noexcept {
  for (int spins = 0;; ++spins) {
    // Look before each exchange: waiting with plain loads leaves the line shared.
    if (!held_.load(std::memory_order_relaxed) &&
        !held_.exchange(true, std::memory_order_acquire)) {
      return;
    }
    if (spins < kPausesBeforeYield) {
      CpuPause();
    } else {
      sched_yield();
    }
  }
}

bool FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
               std::optional<std::int64_t> timeout_ns) noexcept {
  timespec timeout{};
  if (timeout_ns) {
    const std::int64_t ns = *timeout_ns < 0 ? 0 : *timeout_ns;
    timeout.tv_sec = static_cast<time_t>(ns / kNanosecondsPerSecond);
    timeout.tv_nsec = static_cast<long>(ns % kNanosecondsPerSecond);
  }
  return Futex(word, FUTEX_WAIT, expected, timeout_ns ? &timeout : nullptr) == 0 ||
         errno != ETIMEDOUT;
}

void FutexWake(std::atomic<std::uint32_t>& word, int count) noexcept {
  Futex(word, FUTEX_WAKE, static_cast<std::uint32_t>(count), nullptr);
}

void Event::Set() noexcept {
  // The release pairs with the acquire in IsSet and PrepareWait. From here on a waiter may have
  // destroyed the event: only its address is used, and a wake-up of a dead address is harmless,
  // because every futex wait is in a loop.
  if (state_.exchange(kSet, std::memory_order_release) == kAwaited) FutexWake(state_, INT32_MAX);
}

// Announces a sleeper; false if the event is already set.
bool Event::PrepareWait() noexcept {
  std::uint32_t seen = kUnset;
  return state_.compare_exchange_strong(seen, kAwaited, std::memory_order_acquire) ||
         seen == kAwaited;
}

void Event::Wait() noexcept {
  while (PrepareWait()) FutexWait(state_, kAwaited);
}

bool Event::WaitFor(std::int64_t nanoseconds) noexcept {
  if (IsSet()) return true;
  const std::int64_t start = MonotonicNow();
  for (;;) {
    // The difference cannot overflow, a deadline computed from a huge time-out could.
    const std::int64_t left = nanoseconds - (MonotonicNow() - start);
    if (left <= 0) return IsSet();
    if (!PrepareWait()) return true;
    FutexWait(state_, kAwaited, left);
  }
}

}  // namespace ergon::core
