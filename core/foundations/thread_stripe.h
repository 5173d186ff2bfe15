// Which stripe of a striped counter a thread writes, so that threads do not fight for one cache line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ergon::core {

// A thread owns a stripe for as long as it lives, if there is one left when it first asks. Later threads share others.
// So nobody else writes what belongs to an owned stripe, and adding to it takes no read-modify-write.
class ThreadStripe {
 public:
  static constexpr std::size_t kOwned = 16;
  static constexpr std::size_t kShared = 16;
  static constexpr std::size_t kCount = kOwned + kShared;

  // Returns the stripe of the calling thread. A process may go on in another thread after it has waited: ask again
  // then.
  [[nodiscard]] static ThreadStripe OfThisThread() noexcept;

  // Returns its place, less than kCount.
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  // Adds to a counter of this stripe, in the thread that it belongs to.
  void Add(std::atomic<std::uint64_t>& counter, std::uint64_t amount,
           std::memory_order order = std::memory_order_relaxed) const noexcept {
    if (index_ < kOwned) [[likely]] {
      counter.store(counter.load(std::memory_order_relaxed) + amount, order);
    } else {
      counter.fetch_add(amount, order);
    }
  }

 private:
  explicit ThreadStripe(std::size_t index) noexcept : index_(index) {}

  std::size_t index_;
};

}  // namespace ergon::core
