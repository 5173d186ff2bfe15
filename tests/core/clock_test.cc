#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/clock.h>
#include "turns.h"

namespace ergon::core::clock_test {
namespace {

using testing::Eventually;

TEST_CASE("clock: the steady clock grows and its coarse reading is never ahead") {
  const SteadyClock clock;
  int64_t last = clock.Now();
  int64_t last_coarse = clock.CoarseNow();
  CHECK(last > 0);
  for (int i = 0; i < 10'000; ++i) {
    const int64_t coarse = clock.CoarseNow();
    const int64_t now = clock.Now();
    REQUIRE(now >= last);
    REQUIRE(coarse >= last_coarse);
    REQUIRE(coarse <= now);
    last = now;
    last_coarse = coarse;
  }
}

// A thread may be pre-empted between two readings, so the coarse one comes second; and a machine that has
// other things to do may be late with it for once.
TEST_CASE("clock: the coarse reading lags by at most kCoarseLag") {
  const SteadyClock clock;
  for (int i = 0; i < 1'000; ++i) {
    REQUIRE(Eventually([&] {
      const int64_t before = clock.Now();
      return clock.CoarseNow() >= before - kCoarseLag;
    }));
  }
}

TEST_CASE("clock: the manual clock moves when told to, and never back") {
  ManualClock clock(100);
  CHECK(clock.Now() == 100);
  CHECK(clock.CoarseNow() == 100);
  clock.AdvanceTo(250);
  CHECK(clock.Now() == 250);
  clock.AdvanceTo(40);
  CHECK(clock.Now() == 250);
  clock.AdvanceBy(5);
  CHECK(clock.Now() == 255);
  clock.AdvanceBy(0);
  clock.AdvanceBy(-7);
  CHECK(clock.Now() == 255);
  CHECK(ManualClock().Now() == 0);
}

TEST_CASE("clock: the manual clock stops at the end of time") {
  ManualClock clock(kNever - 10);
  clock.AdvanceBy(5);
  CHECK(clock.Now() == kNever - 5);
  clock.AdvanceBy(6);
  CHECK(clock.Now() == kNever);
  clock.AdvanceBy(kNever);
  CHECK(clock.Now() == kNever);
}

TEST_CASE("clock: several threads advance a manual clock and none of it is lost") {
  constexpr int kThreads = 4;
  constexpr int kSteps = 5'000;
  ManualClock clock;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&clock, t] {
      int64_t last = 0;
      for (int i = 0; i < kSteps; ++i) {
        clock.AdvanceBy(3);
        clock.AdvanceTo(t);  // long past, or at most a harmless start
        const int64_t now = clock.Now();
        if (now < last + 3) clock.AdvanceTo(kNever);  // spoils the sum below
        last = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(clock.Now() == int64_t{3} * kThreads * kSteps);
}

TEST_CASE("clock: what was done before an advance is seen after it") {
  ManualClock clock;
  int value = 0;  // not atomic on purpose: the clock orders it
  std::thread writer([&] {
    value = 42;
    clock.AdvanceTo(1);
  });
  while (clock.Now() == 0) std::this_thread::yield();
  CHECK(value == 42);
  writer.join();
}

}  // namespace
}  // namespace ergon::core::clock_test
