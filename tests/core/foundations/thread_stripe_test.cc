#include <ergon/core/foundations/thread_stripe.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using ergon::core::ThreadStripe;

namespace {

std::size_t Index() { return ThreadStripe::OfThisThread().index(); }

// Counters of all stripes, added to as the users of ThreadStripe do.
struct Counters {
  std::array<std::atomic<std::uint64_t>, ThreadStripe::kCount> of_stripes{};

  void Add(std::uint64_t amount) {
    const ThreadStripe stripe = ThreadStripe::OfThisThread();
    stripe.Add(of_stripes[stripe.index()], amount);
  }
  std::uint64_t Sum() const {
    std::uint64_t sum = 0;
    for (const auto& counter : of_stripes) sum += counter.load(std::memory_order_relaxed);
    return sum;
  }
};

Counters counters_of_ending;

// Adds when its thread ends.
struct AddsAtEnd {
  ~AddsAtEnd() { counters_of_ending.Add(1); }
};

}  // namespace

TEST_CASE("thread stripe: a thread keeps its own") { CHECK(Index() == Index()); }

TEST_CASE("thread stripe: no two living threads own the same, and those without one share") {
  constexpr std::size_t kThreads = ThreadStripe::kCount + 5;
  (void)Index();  // this thread has one, too
  std::mutex mutex;
  std::vector<std::size_t> indices{Index()};
  std::barrier all(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        {
          const std::lock_guard lock(mutex);
          indices.push_back(Index());
        }
        all.arrive_and_wait();
      });
    }
  }
  std::set<std::size_t> owned;
  std::size_t sharing = 0;
  for (const std::size_t index : indices) {
    REQUIRE(index < ThreadStripe::kCount);
    if (index < ThreadStripe::kOwned) {
      CHECK(owned.insert(index).second);
    } else {
      ++sharing;
    }
  }
  CHECK(owned.size() == ThreadStripe::kOwned);
  CHECK(sharing == kThreads + 1 - ThreadStripe::kOwned);
}

TEST_CASE("thread stripe: one after the other, threads own the same, and nothing is lost") {
  constexpr std::uint64_t kThreads = 200;
  Counters counters;
  std::set<std::size_t> indices;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    std::thread([&] {
      indices.insert(Index());
      counters.Add(3);
    }).join();
  }
  CHECK(indices.size() == 1);
  CHECK(*indices.begin() < ThreadStripe::kOwned);
  CHECK(counters.Sum() == 3 * kThreads);
}

TEST_CASE("thread stripe: what threads add while others end is not lost") {
  constexpr std::uint64_t kThreads = 40;
  constexpr std::uint64_t kGenerations = 20;
  constexpr std::uint64_t kEach = 200;
  Counters counters;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t k = 0; k < kGenerations; ++k) {
          std::jthread([&] {
            for (std::uint64_t j = 0; j < kEach; ++j) counters.Add(1);
          });
        }
      });
    }
  }
  CHECK(counters.Sum() == kThreads * kGenerations * kEach);
}

TEST_CASE("thread stripe: a thread that ends may add to the last") {
  constexpr std::uint64_t kThreads = 100;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([] {
        // Made before the thread has a stripe, so it goes after that.
        static thread_local const AddsAtEnd kAddsAtEnd;
        (void)&kAddsAtEnd;
        counters_of_ending.Add(1);
      });
    }
  }
  CHECK(counters_of_ending.Sum() == 2 * kThreads);
}
