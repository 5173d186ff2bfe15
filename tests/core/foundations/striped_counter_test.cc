#include <ergon/core/foundations/striped_counter.h>

#include <thread>
#include <vector>

#include <doctest/doctest.h>

using ergon::core::StripedCounter;
using ergon::core::ThreadStripe;

TEST_CASE("striped counter: starts at zero and adds up") {
  StripedCounter counter;
  CHECK(counter.Sum() == 0);
  counter.Add();
  counter.Add(41);
  CHECK(counter.Sum() == 42);
}

TEST_CASE("striped counter: more threads than stripes lose nothing") {
  constexpr std::size_t kThreads = 2 * ThreadStripe::kCount + 1;
  constexpr std::uint64_t kEach = 10'000;
  StripedCounter counter;
  {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t j = 0; j < kEach; ++j) counter.Add();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(counter.Sum() == kThreads * kEach);
}
