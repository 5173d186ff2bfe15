#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/queues/idle_workers.h>
#include "turns.h"

namespace ergon::core::idle_workers_test {
namespace {

using testing::Eventually;
using testing::kSanitized;

constexpr std::int64_t kShort = 1'000;                      // nanoseconds
constexpr std::int64_t kLong = 100 * testing::kDeadlineNs;  // no test waits that long

TEST_CASE("idle workers: a searcher is not woken, a sleeper is") {
  IdleWorkers idle(2, true);
  REQUIRE(idle.TryStartSearch());
  idle.NotifyWork();
  CHECK(idle.SleepersApprox() == 0);
  CHECK(idle.EndSearch());
  std::thread sleeper([&] {
    idle.PrepareSleep(0);
    CHECK(idle.Sleep(0, kLong) == IdleWorkers::Wake::kNotified);
    CHECK(idle.EndSearch());  // the waker has made it a searcher
  });
  REQUIRE(Eventually([&] { return idle.SleepersApprox() == 1; }));
  idle.NotifyWork();
  CHECK(idle.SleepersApprox() == 0);
  sleeper.join();
}

TEST_CASE("idle workers: work ends a nap, and so does its time") {
  IdleWorkers idle(1, true);
  std::thread sleeper([&] {
    idle.PrepareSleep(0);
    CHECK(idle.Nap(0, kLong, kShort) == IdleWorkers::Wake::kNotified);
    CHECK(idle.EndSearch());
  });
  REQUIRE(Eventually([&] { return idle.SleepersApprox() == 1; }));
  idle.NotifyWork();
  sleeper.join();
  idle.PrepareSleep(0);
  CHECK(idle.Nap(0, kShort, kLong) == IdleWorkers::Wake::kTimedOut);
  CHECK(idle.EndSearch());
}

TEST_CASE("idle workers: no more than max(2, half) search") {
  IdleWorkers idle(8, true);
  for (int i = 0; i < 4; ++i) CHECK(idle.TryStartSearch());
  CHECK_FALSE(idle.TryStartSearch());
  for (int i = 0; i < 3; ++i) CHECK_FALSE(idle.EndSearch());
  CHECK(idle.EndSearch());
}

TEST_CASE("idle workers: two pushes in a row wake one") {
  IdleWorkers idle(3, true);
  idle.PrepareSleep(0);
  idle.PrepareSleep(1);
  idle.NotifyWork();
  idle.NotifyWork();
  CHECK(idle.SleepersApprox() == 1);
  CHECK(idle.Sleep(1, kLong) == IdleWorkers::Wake::kNotified);  // not 0: that is the rescuer
  idle.CancelSleep(0);
  CHECK(idle.SleepersApprox() == 0);
}

TEST_CASE("idle workers: the rescuer times out, and the last one awake is none") {
  IdleWorkers idle(2, true);
  idle.PrepareSleep(0);
  CHECK(idle.Sleep(0, kShort) == IdleWorkers::Wake::kTimedOut);
  CHECK(idle.EndSearch());
  idle.PrepareSleep(0);  // the rescuer again
  std::thread last([&] {
    idle.PrepareSleep(1);
    // No time-out for this one, however short.
    CHECK(idle.Sleep(1, kShort) == IdleWorkers::Wake::kNotified);
    idle.EnsureRescuer();
  });
  REQUIRE(Eventually([&] { return idle.SleepersApprox() == 2; }));
  idle.NotifyWork();
  last.join();
  CHECK(idle.SleepersApprox() == 1);  // there was a rescuer already
  idle.CancelSleep(0);
}

TEST_CASE("idle workers: a private push wakes one if all slept") {
  IdleWorkers idle(2, true);
  std::vector<std::thread> sleepers;
  std::atomic<int> woken{0};
  idle.PrepareSleep(0);
  CHECK(idle.Sleep(0, kShort) == IdleWorkers::Wake::kTimedOut);
  CHECK(idle.EndSearch());
  idle.PrepareSleep(1);
  idle.PrepareSleep(0);  // all asleep; the rescuer is 1
  CHECK(idle.Sleep(1, kShort) == IdleWorkers::Wake::kTimedOut);
  CHECK(idle.EndSearch());
  idle.PrepareSleep(1);  // now there is none
  idle.NotifyWork();     // wakes 1, which has a private push to make
  CHECK(idle.Sleep(1, kLong) == IdleWorkers::Wake::kNotified);
  CHECK(idle.EndSearch());
  CHECK(idle.SleepersApprox() == 1);
  idle.EnsureRescuer();
  CHECK(idle.SleepersApprox() == 0);
  CHECK(idle.Sleep(0, kLong) == IdleWorkers::Wake::kNotified);
}

TEST_CASE("idle workers: no lost wake-up between the last look and the sleep") {
  // Each round one token is published; a sleeper without time-out must take it.
  constexpr int kRounds = kSanitized ? 5'000 : 50'000;
  constexpr int kSleepers = 2;
  IdleWorkers idle(kSleepers, false);
  std::atomic<int> tokens{0};
  std::atomic<int> taken{0};
  std::atomic<bool> done{false};
  auto take = [&] {
    int seen = tokens.load();
    while (seen > 0) {
      if (tokens.compare_exchange_weak(seen, seen - 1)) {
        taken.fetch_add(1);
        return true;
      }
    }
    return false;
  };
  std::vector<std::thread> sleepers;
  for (int s = 0; s < kSleepers; ++s) {
    sleepers.emplace_back([&, s] {
      bool searching = idle.TryStartSearch();
      while (!done.load()) {
        if (take()) {
          if ((!searching || idle.EndSearch()) && tokens.load() > 0) idle.NotifyWork();
          searching = idle.TryStartSearch();
          continue;
        }
        if (searching && idle.EndSearch()) {
          // falls asleep; whoever publishes from here on sees a sleeper or is seen below
        }
        idle.PrepareSleep(s);
        searching = true;
        if (tokens.load() > 0 || done.load()) {
          idle.CancelSleep(s);
        } else {
          idle.Sleep(s, kLong);
        }
      }
    });
  }
  for (int round = 1; round <= kRounds; ++round) {
    tokens.fetch_add(1);
    idle.NotifyWork();
    if (round % 4 == 0) continue;  // sometimes several at once
    REQUIRE(Eventually([&] { return taken.load() == round; }));
  }
  CHECK(Eventually([&] { return taken.load() == kRounds; }));
  done = true;
  idle.WakeAll();
  for (auto& sleeper : sleepers) sleeper.join();
}

}  // namespace
}  // namespace ergon::core::idle_workers_test
