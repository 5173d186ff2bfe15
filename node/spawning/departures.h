// How many processes have left, and who waits until all have.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ergon/core/foundations/sync.h>

namespace ergon::node {

// Each thread counts in a line of its own, so that ends on several threads do not fight for one. Whoever waits makes
// those who leave look at all lines.
//
//   who leaves   Leave: counts itself    is there somebody who waits?   all lines
//   who waits    Begin: waits            all lines
//
// All of these are sequentially consistent (Dekker's pattern): if the waiter misses somebody's count, that one sees the
// waiter. The last one of those who see him finds the counts of all others.
template <std::size_t kStripes>
class Departures {
 public:
  // Counts one that has left, by a thread whose stripe is `stripe`. Returns whom to wake, once: as many have left as
  // `arrived()` returns, or had in a wait before. What it counts must never be less than those that have left.
  template <class Arrived>
  [[nodiscard]] core::Event* Leave(std::size_t stripe, Arrived&& arrived) noexcept {
    stripes_[stripe].left.fetch_add(1, std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_seq_cst) == nullptr) [[likely]]
      return nullptr;
    return HaveAllLeft(arrived) ? waiting_.exchange(nullptr, std::memory_order_seq_cst) : nullptr;
  }

  // Begins to wait: Leave returns `event` when as many have left as `arrived()` returns. One thread at a time. Returns
  // true if they have left already.
  template <class Arrived>
  [[nodiscard]] bool Begin(core::Event& event, Arrived&& arrived) noexcept {
    waiting_.store(&event, std::memory_order_seq_cst);
    return HaveAllLeft(arrived);
  }
  // Ends to wait. Returns false if Leave has returned the event: then wait for it, and begin anew to know whether all
  // have left. Whoever has found that looks for the event afterwards, and several may find it at once: the one that is
  // too late for this wait takes the event of the next one.
  [[nodiscard]] bool End() noexcept {
    return waiting_.exchange(nullptr, std::memory_order_seq_cst) != nullptr;
  }

 private:
  // The departures first: as many had arrived by then, at least.
  template <class Arrived>
  [[nodiscard]] bool HaveAllLeft(Arrived& arrived) const noexcept {
    std::uint64_t left = 0;
    for (const Stripe& stripe : stripes_) left += stripe.left.load(std::memory_order_seq_cst);
    return left == arrived();
  }

  struct alignas(64) Stripe {
    std::atomic<std::uint64_t> left{0};
  };

  alignas(64) std::atomic<core::Event*> waiting_{nullptr};
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace ergon::node
