// Counts the processes that were spawned, until there may be no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace ergon::node {

// Any thread.
class SpawnGate {
 public:
  // Counts one more process, whose slot has been opened, and returns its place in the order of spawning, or nothing
  // after Close: the process is counted all the same, and must end without having begun. Acquire and release; partner:
  // Close. Both change the same word, so one of them comes first: this, and whoever has closed finds the slot open; or
  // Close, and there is no place. A look at a flag of its own would not do: those who look for processes read slots
  // with loads of no order, which could be seen before the flag is, and the process be missed by both.
  [[nodiscard]] std::optional<std::uint64_t> Enter() noexcept {
    const std::uint64_t before = word_.fetch_add(1, std::memory_order_seq_cst);
    return (before & kClosed) == 0 ? std::optional(before) : std::nullopt;
  }
  // Whoever has closed finds all processes that have a place. Acquire and release; partner: Enter. It must not be a
  // store, which would see nothing of what Enter has released.
  void Close() noexcept { word_.fetch_or(kClosed, std::memory_order_seq_cst); }
  // Saves those who come later the work; Enter decides.
  [[nodiscard]] bool IsClosed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kClosed) != 0;
  }
  // Returns how many were counted. Sequentially consistent, as Enter; partner: Population::Leave.
  [[nodiscard]] std::uint64_t count() const noexcept {
    return word_.load(std::memory_order_seq_cst) & ~kClosed;
  }

 private:
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;

  std::atomic<std::uint64_t> word_{0};  // the count, and kClosed
};

}  // namespace ergon::node
