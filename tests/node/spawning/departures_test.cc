#include <ergon/node/spawning/departures.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::node::departures_test {

TEST_CASE("departures: the last one that leaves wakes who waits, once, wherever they are counted") {
  Departures<2> departures;
  std::uint64_t arrived = 3;
  const auto count = [&] { return arrived; };
  core::Event event;
  CHECK(departures.Leave(0, count) == nullptr);
  CHECK_FALSE(departures.Begin(event, count));
  CHECK(departures.Leave(1, count) == nullptr);
  ++arrived;
  CHECK(departures.Leave(0, count) == nullptr);
  CHECK(departures.Leave(1, count) == &event);
  CHECK_FALSE(departures.End());
  ++arrived;
  CHECK(departures.Leave(0, count) == nullptr);
}

TEST_CASE("departures: nobody is woken who has ceased to wait, or waits when all have left") {
  Departures<2> departures;
  const auto count = [] { return std::uint64_t{1}; };
  core::Event event;
  CHECK_FALSE(departures.Begin(event, count));
  CHECK(departures.End());
  CHECK(departures.Leave(1, count) == nullptr);
  CHECK(departures.Begin(event, count));
  CHECK(departures.End());
}

TEST_CASE("departures: of threads, at any moment") {
  constexpr std::size_t kThreads = 3;
  const auto count = [] { return std::uint64_t{kThreads}; };
  for (int round = 0; round < 200; ++round) {
    Departures<kThreads> departures;
    std::atomic<int> woken{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&departures, &count, &woken, i] {
        if (core::Event* const event = departures.Leave(i, count)) {
          ++woken;
          event->Set();
        }
      });
    }
    core::Event event;
    const bool waits = !departures.Begin(event, count) || !departures.End();
    if (waits) event.Wait();
    for (std::thread& thread : threads) thread.join();
    CHECK(woken == (waits ? 1 : 0));
  }
}

}  // namespace ergon::node::departures_test
