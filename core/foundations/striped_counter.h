// A counter that many threads add to and few read: each thread adds to a stripe of it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ergon/core/foundations/thread_stripe.h>

namespace ergon::core {

class StripedCounter {
 public:
  // Adds to the counter. May be called from any thread.
  void Add(std::uint64_t amount = 1) noexcept {
    const ThreadStripe stripe = ThreadStripe::OfThisThread();
    stripe.Add(stripes_[stripe.index()].value, amount);
  }
  // Returns the sum, which is exact when no thread adds. May be called from any thread.
  [[nodiscard]] std::uint64_t Sum() const noexcept {
    std::uint64_t sum = 0;
    for (const Stripe& stripe : stripes_) sum += stripe.value.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(64) Stripe {
    std::atomic<std::uint64_t> value{0};
  };

  std::array<Stripe, ThreadStripe::kCount> stripes_;
};

}  // namespace ergon::core
