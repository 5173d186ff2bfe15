// A counter that many threads add to and few read: each thread has a stripe of it, as far as there are enough, so that
// threads do not fight for one cache line.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ergon::core {

class StripedCounter {
 public:
  static constexpr std::size_t kStripes = 16;

  // Adds to the counter. May be called from any thread.
  void Add(std::uint64_t amount = 1) noexcept {
    stripes_[ThreadStripe()].value.fetch_add(amount, std::memory_order_relaxed);
  }
  // Returns the sum, which is exact when no thread adds. May be called from any thread.
  [[nodiscard]] std::uint64_t Sum() const noexcept {
    std::uint64_t sum = 0;
    for (const Stripe& stripe : stripes_) sum += stripe.value.load(std::memory_order_relaxed);
    return sum;
  }

  // Returns the stripe of the calling thread, less than kStripes.
  [[nodiscard]] static std::size_t ThreadStripe() noexcept;

 private:
  struct alignas(64) Stripe {
    std::atomic<std::uint64_t> value{0};
  };

  std::array<Stripe, kStripes> stripes_;
};

}  // namespace ergon::core
