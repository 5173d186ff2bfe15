// How the workers of any dispatcher sleep, wake up and share their time.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/queues/run_queue.h>
#include <ergon/core/threaded_dispatcher.h>
#include <ergon/core/work_sharing.h>
#include <ergon/core/work_stealing.h>
#include "turns.h"

namespace ergon::core::threaded_dispatcher_test {
namespace {

using testing::Endless;
using testing::Eventually;
using testing::kSanitized;
using testing::Turn;

using Make = std::unique_ptr<Dispatcher> (*)(DispatcherOptions);
constexpr Make kPolicies[] = {&MakeWorkStealing, &MakeWorkSharing};

// The body runs once for each policy.
template <typename Body>
void ForEachPolicy(Body body) {
  for (Make make : kPolicies) body(make);
}

// Of this process's threads whose name begins with the prefix: their names, and how often they have
// given up the processor by themselves.
struct Threads {
  std::set<std::string> names;
  std::uint64_t voluntary_switches = 0;
};

Threads FindThreads(const std::string& prefix) {
  Threads found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string line;
    bool ours = false;
    while (std::getline(status, line)) {
      if (line.rfind("Name:\t" + prefix, 0) == 0) {
        ours = true;
        found.names.insert(line.substr(6));
      }
      constexpr const char* kField = "voluntary_ctxt_switches:\t";
      if (ours && line.rfind(kField, 0) == 0) {
        found.voluntary_switches += std::stoull(line.substr(std::string(kField).size()));
      }
    }
  }
  return found;
}

TEST_CASE("threaded dispatcher: threads have names") {
  ForEachPolicy([](Make make) {
    auto dispatcher = make({.workers = 2});
    auto other = make({.workers = 1, .thread_name = "a-name-that-is-far-too-long"});
    REQUIRE(dispatcher->Start(nullptr));
    REQUIRE(other->Start(nullptr));
    CHECK(Eventually([] {
      return FindThreads("ergon-").names == std::set<std::string>{"ergon-0", "ergon-1"};
    }));
    CHECK(Eventually(
        [] { return FindThreads("a-name").names == std::set<std::string>{"a-name-that-i-0"}; }));
  });
}

TEST_CASE("threaded dispatcher: idle, nobody wakes up") {
  ForEachPolicy([](Make make) {
    auto dispatcher = make({.workers = 4, .thread_name = "idle-test"});
    REQUIRE(dispatcher->Start(nullptr));
    // Some work first, so that there was a rescuer.
    std::atomic<int> left{2000};
    std::vector<std::unique_ptr<Turn>> turns;
    for (int i = 0; i < 2000; ++i) {
      turns.push_back(std::make_unique<Turn>([&] {
        --left;
        return TurnEnd::kCompleted;
      }));
      dispatcher->Schedule(*turns.back());
    }
    REQUIRE(Eventually([&] { return left.load() == 0; }));
    // From some moment on, an observed stretch of time has no wake-up and no switch at all. Only
    // the absence of an event is observed by waiting.
    constexpr std::chrono::milliseconds kWindow(200);
    CHECK(Eventually([&] {
      const std::uint64_t wakeups = dispatcher->Stats().wakeups;
      const std::uint64_t switches = FindThreads("idle-test").voluntary_switches;
      std::this_thread::sleep_for(kWindow);
      return dispatcher->Stats().wakeups == wakeups &&
             FindThreads("idle-test").voluntary_switches == switches;
    }));
  });
}

// Two endless ones and a worker for each, or one for both.
void CheckFreshOnesRunSoon(Dispatcher& dispatcher) {
  // Turns of the endless ones that begin meanwhile: each may have been before the fresh one.
  constexpr std::int64_t kMostBefore = 4;
  REQUIRE(dispatcher.Start(nullptr));
  std::vector<Endless> endless(2);
  for (auto& one : endless) dispatcher.Schedule(one);
  REQUIRE(Eventually([&] { return endless[0].turns > 10 && endless[1].turns > 10; }));
  const auto begun = [&] { return static_cast<std::int64_t>(endless[0].turns + endless[1].turns); };
  std::atomic<int> ran{0};
  std::int64_t at_first = 0;
  std::int64_t at_second = 0;
  Turn second([&] {
    at_second = begun();
    ++ran;
    return TurnEnd::kCompleted;
  });
  Turn first([&] {
    at_first = begun();
    dispatcher.Schedule(second);
    return TurnEnd::kCompleted;
  });
  for (int round = 1; round <= 20; ++round) {
    dispatcher.Schedule(first);
    const std::int64_t at_schedule = begun();
    REQUIRE(Eventually([&] { return ran.load() == round; }));
    // With two, the machine may let one stand still while the other goes on.
    if (dispatcher.workers() != 1) continue;
    CHECK(at_first - at_schedule <= kMostBefore);
    CHECK(at_second - at_first <= kMostBefore);
  }
  for (auto& one : endless) one.end = true;
  CHECK(dispatcher.Stop() == "");
}

TEST_CASE(
    "threaded dispatcher: a fresh schedulable runs beside endless ones, from outside and inside") {
  ForEachPolicy([&](Make make) {
    for (const int workers : {1, 2}) CheckFreshOnesRunSoon(*make({.workers = workers}));
  });
}

TEST_CASE("threaded dispatcher: endless ones get their share, many more than fit into a ring") {
  constexpr std::size_t kMany = 3 * kRingCapacity;
  ForEachPolicy([](Make make) {
    auto dispatcher = make({.workers = 2});
    REQUIRE(dispatcher->Start(nullptr));
    std::vector<Endless> endless(kMany);
    for (auto& one : endless) dispatcher->Schedule(one);
    CHECK(Eventually([&] {
      for (auto& one : endless) {
        if (one.turns.load() < 3) return false;
      }
      return true;
    }));
    for (auto& one : endless) one.end = true;
    CHECK(dispatcher->Stop() == "");
  });
}

TEST_CASE("threaded dispatcher: no lost wake-up: workers fall asleep between rounds") {
  constexpr int kRounds = kSanitized ? 1'000 : 10'000;
  ForEachPolicy([&](Make make) {
    // One worker alone: nobody makes up for a wake-up it misses.
    for (int workers : {1, 2, 3}) {
      for (std::int64_t search : {std::int64_t{0}, std::int64_t{2'000}}) {
        auto dispatcher = make({.workers = workers, .search_ns = search});
        std::atomic<int> ran{0};
        const auto count = [&] {
          ++ran;
          return TurnEnd::kCompleted;
        };
        Turn second(count);
        Turn third(count);
        Turn first([&] {
          dispatcher->Schedule(second);
          dispatcher->Schedule(third);
          return count();
        });
        REQUIRE(dispatcher->Start(nullptr));
        for (int round = 1; round <= kRounds; ++round) {
          dispatcher->Schedule(first);
          REQUIRE(Eventually([&] { return ran.load() == 3 * round; }));
          // Meet the worker at ever other points of its way to sleep.
          for (int i = 0; i < round % 64; ++i) CpuPause();
        }
        CHECK(dispatcher->Stop() == "");
      }
    }
  });
}

}  // namespace
}  // namespace ergon::core::threaded_dispatcher_test
