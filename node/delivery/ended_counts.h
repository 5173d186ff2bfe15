// What is counted of processes that have ended.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <ergon/core/foundations/thread_stripe.h>
#include <ergon/node/process_state/message_counts.h>

namespace ergon::node {

// Any thread.
class EndedCounts {
 public:
  // Counts an end, and takes over the messages that the process has sent and handled. Call it before the process says
  // that it is over: whoever has waited for the end, or asks just then, finds the end counted, and no message twice.
  void Note(bool has_failed, MessageCounts& counts) noexcept {
    const core::ThreadStripe stripe = core::ThreadStripe::OfThisThread();
    Counts& own = stripes_[stripe.index()];
    stripe.Add(own.sent, counts.sent());
    stripe.Add(own.handled, counts.handled());
    counts.Reset();
    if (has_failed) stripe.Add(own.failed, 1);
    // Partner: processes().
    stripe.Add(own.ended, 1, std::memory_order_release);
  }

  // Returns how many processes have ended; never more than were spawned by the time that this returns.
  [[nodiscard]] std::uint64_t processes() const noexcept {
    return Sum(&Counts::ended, std::memory_order_acquire);
  }
  // Returns how many of them have ended with a failure.
  [[nodiscard]] std::uint64_t failed() const noexcept { return Sum(&Counts::failed); }
  // Return how many messages they had sent, and handled.
  [[nodiscard]] std::uint64_t sent() const noexcept { return Sum(&Counts::sent); }
  [[nodiscard]] std::uint64_t handled() const noexcept { return Sum(&Counts::handled); }

 private:
  // What one thread has counted; a line of its own, so that ends on several threads do not fight for one.
  struct alignas(64) Counts {
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> handled{0};
  };

  [[nodiscard]] std::uint64_t Sum(
      std::atomic<std::uint64_t> Counts::*count,
      std::memory_order order = std::memory_order_relaxed) const noexcept {
    std::uint64_t sum = 0;
    for (const Counts& stripe : stripes_) sum += (stripe.*count).load(order);
    return sum;
  }

  std::array<Counts, core::ThreadStripe::kCount> stripes_;
};

}  // namespace ergon::node
