// The blocking primitives that everything else is built from: a spin lock, futex calls, a one-shot event.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace ergon::core {

// Tells the core that this is a busy-wait loop.
inline void CpuPause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// BasicLockable, for sections of a few dozen instructions. Waits with pauses, then gives the
// processor away, so that a holder that was pre-empted gets to run.
class SpinLock {
 public:
  void lock() noexcept {
    // acquire pairs with the release in unlock
    if (!held_.exchange(true, std::memory_order_acquire)) [[likely]]
      return;
    LockSlow();
  }
  bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  void LockSlow() noexcept;

  std::atomic<bool> held_{false};
};

// Sleeps while `word` holds `expected`, at most `timeout_ns` (relative) if given. Returns false on
// time-out; true otherwise, which includes waking for no reason: re-check the word in a loop.
bool FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
               std::optional<std::int64_t> timeout_ns = std::nullopt) noexcept;

// Wakes up to `count` threads that sleep on `word`. Uses its address only, so the word may be gone.
void FutexWake(std::atomic<std::uint32_t>& word, int count) noexcept;

// Happens once. Any thread may Set, any number may Wait; what was written before Set is visible
// after Wait. A waiter may destroy the event as soon as its Wait has returned.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void Set() noexcept;
  // acquire pairs with the release in Set
  bool IsSet() const noexcept { return state_.load(std::memory_order_acquire) == kSet; }
  void Wait() noexcept;
  // Returns false if the event is still not set after that time.
  bool WaitFor(std::int64_t nanoseconds) noexcept;

 private:
  static constexpr std::uint32_t kUnset = 0;
  static constexpr std::uint32_t kAwaited = 1;  // unset, and a thread may be asleep
  static constexpr std::uint32_t kSet = 2;

  bool PrepareWait() noexcept;

  std::atomic<std::uint32_t> state_{kUnset};
};

}  // namespace ergon::core
