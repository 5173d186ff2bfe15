// A count that one thread at a time writes and any thread reads.
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/foundations/sanitizers.h>

namespace ergon::core {

class SingleWriterCounter {
 public:
  // -- the writer --

  void Add() noexcept {
#if defined(__x86_64__) && !ERGON_TSAN
    // The same as below in one instruction, which GCC does not make of the load and the store of an atomic: it runs for
    // each message. An aligned store of 64 bits is atomic, and no other thread writes.
    asm("incq %0" : "+m"(count_) : : "cc");
#else
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
#endif
  }
  // Adds one. What was written before is visible to threads that Acquire this count.
  void AddAndRelease() noexcept {
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void Reset() noexcept { count_.store(0, std::memory_order_relaxed); }

  // -- any thread --

  [[nodiscard]] std::uint64_t Read() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }
  // Returns the count. Partner: AddAndRelease.
  [[nodiscard]] std::uint64_t Acquire() const noexcept {
    return count_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace ergon::core
