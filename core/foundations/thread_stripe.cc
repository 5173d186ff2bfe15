#include <ergon/core/foundations/thread_stripe.h>

#include <bit>

namespace ergon::core {
namespace {

constexpr std::size_t kNone = ThreadStripe::kCount;

static_assert(ThreadStripe::kOwned < 32);
constexpr std::uint32_t kAllOwned = (std::uint32_t{1} << ThreadStripe::kOwned) - 1;

constinit std::atomic<std::uint32_t> owned{0};  // a bit for each stripe that has an owner
constinit std::atomic<std::size_t> sharers{0};
constinit thread_local std::size_t index_of_thread [[gnu::tls_model("initial-exec")]] = kNone;

std::size_t Share() noexcept {
  return ThreadStripe::kOwned +
         sharers.fetch_add(1, std::memory_order_relaxed) % ThreadStripe::kShared;
}

// Gives up the stripe of a thread that ends. What that thread still does uses a shared one.
struct Owner {
  ~Owner() {
    const std::uint32_t bit = std::uint32_t{1} << index_of_thread;
    index_of_thread = Share();
    owned.fetch_and(~bit, std::memory_order_release);  // partner: Choose
  }
};

[[gnu::noinline, gnu::cold]] void Choose() noexcept {
  std::uint32_t taken = owned.load(std::memory_order_relaxed);
  while (taken != kAllOwned) {
    const int free = std::countr_one(taken);
    // Acquire; partner: ~Owner. What the former owner has added is there.
    if (owned.compare_exchange_weak(taken, taken | std::uint32_t{1} << free,
                                    std::memory_order_acquire, std::memory_order_relaxed)) {
      index_of_thread = static_cast<std::size_t>(free);
      static thread_local const Owner kOwner;
      return;
    }
  }
  index_of_thread = Share();
}

}  // namespace

// noinline: the address must not be kept over a fiber's move to another thread.
[[gnu::noinline]] ThreadStripe ThreadStripe::OfThisThread() noexcept {
  if (index_of_thread == kNone) [[unlikely]]
    Choose();
  asm volatile("" ::: "memory");  // so that two calls are not made one
  return ThreadStripe(index_of_thread);
}

}  // namespace ergon::core
