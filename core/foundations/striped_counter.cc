#include <ergon/core/foundations/striped_counter.h>

namespace ergon::core {

// noinline: the address must not be kept over a fiber's move to another thread.
[[gnu::noinline]] std::size_t StripedCounter::ThreadStripe() noexcept {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t stripe =
      threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
  return stripe;
}

}  // namespace ergon::core
