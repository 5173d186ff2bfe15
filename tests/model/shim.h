// Puts the explorer's atomics, futexes and clock in the place of the real ones.
//
// The code under test is compiled as it is: this header includes what that code needs of the
// standard library, and then gives the names it uses another meaning by macros. That a macro called
// `atomic` turns std::atomic into std::model_atomic is why that name is in namespace std, and
// `#include <atomic>` is not affected. So this header comes first in every source file of the models,
// with the exception of the explorer's own, and no object compiled with it may be linked with one
// of ergon_core.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <doctest/doctest.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "explorer.h"
#include "plain.h"

namespace ergon::model {

// As large as T, because core/foundations/sync.cc shows the address to the kernel; what the explorer knows
// about the word is kept elsewhere.
template <class T>
class Atomic {
 public:
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  static constexpr bool is_always_lock_free = true;

  Atomic() noexcept : Atomic(T{}) {}
  Atomic(T value) noexcept : value_(value) { hooks::Create(&value_); }  // NOLINT: as std::atomic
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;
  ~Atomic() { hooks::Destroy(&value_); }

  T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return FromBits(hooks::Load(&value_, sizeof(T), order));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    hooks::Store(&value_, sizeof(T), ToBits(value), order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    bool is_lock = false;
    if constexpr (std::is_same_v<T, bool>) is_lock = value;
    const std::uint64_t old = hooks::BeginReadModifyWrite(&value_, sizeof(T), is_lock);
    hooks::EndReadModifyWrite(&value_, sizeof(T), ToBits(value), order);
    return FromBits(old);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
    return CompareExchange(expected, desired, success, failure, false);
  }
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order order = std::memory_order_seq_cst) noexcept {
    return CompareExchange(expected, desired, order, order, false);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return CompareExchange(expected, desired, success, failure, true);
  }
  bool compare_exchange_weak(T& expected, T desired,
                             std::memory_order order = std::memory_order_seq_cst) noexcept {
    return CompareExchange(expected, desired, order, order, true);
  }
  T fetch_add(T difference, std::memory_order order = std::memory_order_seq_cst) noexcept {
    const T old = FromBits(hooks::BeginReadModifyWrite(&value_, sizeof(T), false));
    hooks::EndReadModifyWrite(&value_, sizeof(T), ToBits(static_cast<T>(old + difference)), order);
    return old;
  }
  T fetch_sub(T difference, std::memory_order order = std::memory_order_seq_cst) noexcept {
    const T old = FromBits(hooks::BeginReadModifyWrite(&value_, sizeof(T), false));
    hooks::EndReadModifyWrite(&value_, sizeof(T), ToBits(static_cast<T>(old - difference)), order);
    return old;
  }
  T fetch_or(T bits, std::memory_order order = std::memory_order_seq_cst) noexcept {
    const T old = FromBits(hooks::BeginReadModifyWrite(&value_, sizeof(T), false));
    hooks::EndReadModifyWrite(&value_, sizeof(T), ToBits(static_cast<T>(old | bits)), order);
    return old;
  }
  T fetch_and(T bits, std::memory_order order = std::memory_order_seq_cst) noexcept {
    const T old = FromBits(hooks::BeginReadModifyWrite(&value_, sizeof(T), false));
    hooks::EndReadModifyWrite(&value_, sizeof(T), ToBits(static_cast<T>(old & bits)), order);
    return old;
  }

 private:
  static std::uint64_t ToBits(T value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  static T FromBits(std::uint64_t bits) noexcept {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  bool CompareExchange(T& expected, T desired, std::memory_order success, std::memory_order failure,
                       bool weak) noexcept {
    const std::uint64_t old = hooks::BeginReadModifyWrite(&value_, sizeof(T), false);
    const bool equal = old == ToBits(expected);
    if (equal && !(weak && hooks::FailsSpuriously())) {
      hooks::EndReadModifyWrite(&value_, sizeof(T), ToBits(desired), success);
      return true;
    }
    hooks::EndFailedExchange(&value_, failure);
    expected = FromBits(old);
    return false;
  }

  T value_;
};

struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept { return time_point(duration(hooks::Now())); }
};

// syscall(2), as far as core/foundations/sync.cc uses it.
inline long SystemCall(long, const std::uint32_t* word, int operation, std::uint32_t value,
                       const timespec* timeout, const void*, int) {
  if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE) {
    hooks::FutexWake(word, static_cast<int>(value));
    return 0;
  }
  const std::int64_t nanoseconds =
      timeout == nullptr ? -1 : std::int64_t{timeout->tv_sec} * 1'000'000'000 + timeout->tv_nsec;
  if (hooks::FutexWait(word, value, nanoseconds)) return 0;
  errno = ETIMEDOUT;
  return -1;
}

inline int YieldProcessor() {
  hooks::Pause();
  return 0;
}

}  // namespace ergon::model

namespace std {
template <class T>
using model_atomic = ergon::model::Atomic<T>;
namespace chrono {
using model_clock = ergon::model::Clock;
}
}  // namespace std

#define atomic model_atomic
#define steady_clock model_clock
#define syscall ::ergon::model::SystemCall
#define sched_yield ::ergon::model::YieldProcessor

// core/foundations/sync.h defines this one itself, so that is called something else, and all callers get ours.
#define CpuPause CpuPauseOfTheProcessor
#include <ergon/core/foundations/sync.h>
#undef CpuPause

namespace ergon::core {
inline void CpuPause() noexcept { model::hooks::Pause(); }
}  // namespace ergon::core
