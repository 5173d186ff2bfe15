// Counts the processes that were spawned, until there may be no more.
#pragma once

#include <atomic>
#include <cstdint>

namespace ergon::node {

// Any thread.
class SpawnGate {
 public:
  // What a process meets when it is counted.
  struct Entry {
    std::uint64_t place;  // in the order of spawning
    bool is_open;         // false, after Close: the process must end without having begun
    bool has_levels;      // after NoteLevels
  };

  // Counts one more process, whose slot has been opened. Acquire and release; partners: Close, NoteLevels. All change
  // the same word, so one comes first: this, and whoever has changed it finds the slot open; or the change, and it is
  // in the entry. A look at a flag of its own would not do: those who look for processes read slots with loads of no
  // order, which could be seen before the flag is, and the process be missed by both.
  [[nodiscard]] Entry Enter() noexcept {
    const std::uint64_t before = word_.fetch_add(1, std::memory_order_seq_cst);
    return {before & kCount, (before & kClosed) == 0, (before & kHasLevels) != 0};
  }
  // Whoever has closed finds all processes whose gate was open. Acquire and release; partner: Enter. It must not be a
  // store, which would see nothing of what Enter has released.
  void Close() noexcept { word_.fetch_or(kClosed, std::memory_order_seq_cst); }
  // Tells that behaviours have log levels from now on; see BehaviorLevels. Whoever has called it finds all processes
  // whose entry does not say so. As Close.
  void NoteLevels() noexcept { word_.fetch_or(kHasLevels, std::memory_order_seq_cst); }
  // Saves those who come later the work; Enter decides.
  [[nodiscard]] bool IsClosed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kClosed) != 0;
  }
  // Returns how many were counted. Sequentially consistent, as Enter; partner: Departures::Leave.
  [[nodiscard]] std::uint64_t count() const noexcept {
    return word_.load(std::memory_order_seq_cst) & kCount;
  }

 private:
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kHasLevels = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kCount = kHasLevels - 1;

  std::atomic<std::uint64_t> word_{0};  // the count, kClosed and kHasLevels
};

}  // namespace ergon::node
