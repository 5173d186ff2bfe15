// How long the messages of a pool's worker take it while messages wait. The pool estimates waiting times with it.
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/clock.h>

namespace ergon::node {

// Only the time between two looks counts between which the worker did not run out of work: a worker with nothing to do
// takes no time. The time that it waits for a thread counts, too. Written by the thread with the right to run the
// worker.
class WorkPace {
 public:
  // Measures, at the end of a turn and when a handler has waited. `handled`: the worker's messages so far.
  void Look(const core::Clock& clock, std::uint64_t handled, bool goes_idle) noexcept {
    if (looked_at_ == 0 && goes_idle) return;
    const std::int64_t now = clock.Now();
    if (looked_at_ == 0) {
      looked_at_ = now;
      handled_ = handled;
    } else if (handled != handled_) {
      Add(now - looked_at_, handled - handled_);
      looked_at_ = now;
      handled_ = handled;
    }
    if (goes_idle) looked_at_ = 0;
  }
  void Reset() noexcept {
    looked_at_ = 0;
    time_.store(0, std::memory_order_relaxed);
    messages_.store(0, std::memory_order_relaxed);
  }

  // Returns the time for a message in ns; 0: not known. Any thread.
  [[nodiscard]] std::int64_t Mean() const noexcept {
    const std::int64_t messages = messages_.load(std::memory_order_relaxed);
    return messages == 0 ? 0 : time_.load(std::memory_order_relaxed) * kUnit / messages;
  }

 private:
  static constexpr std::int64_t kUnit = 1024;
  // The weight of each look falls to fifteen sixteenths with the next one.
  static constexpr std::int64_t kWeight = 16;

  void Add(std::int64_t time, std::uint64_t messages) noexcept {
    const std::int64_t old_time = time_.load(std::memory_order_relaxed);
    const std::int64_t old_messages = messages_.load(std::memory_order_relaxed);
    time_.store(old_time - old_time / kWeight + time, std::memory_order_relaxed);
    messages_.store(
        old_messages - old_messages / kWeight + static_cast<std::int64_t>(messages) * kUnit,
        std::memory_order_relaxed);
  }

  std::int64_t looked_at_ = 0;  // Clock ns; 0: the worker has run out of work since
  std::uint64_t handled_ = 0;   // by then
  std::atomic<std::int64_t> time_{0};
  std::atomic<std::int64_t> messages_{0};  // in units of 1 / kUnit
};

}  // namespace ergon::node
