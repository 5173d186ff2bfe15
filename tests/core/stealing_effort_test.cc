#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/stealing_effort.h>
#include <ergon/core/threaded_dispatcher.h>
#include <ergon/core/work_sharing.h>
#include <ergon/core/work_stealing.h>
#include "turns.h"

namespace ergon::core::stealing_effort_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using testing::Eventually;
using testing::Turn;

TEST_CASE("stealing effort: the plan goes through the phases, and starts over") {
  RaidPlan plan({.aggressive = {2}, .moderate = {0, 9ns}, .relaxed = {3, 7ns}});
  for (int round = 0; round < 2; ++round) {
    std::vector<std::int64_t> pauses;
    for (int i = 0; i < 7; ++i) pauses.push_back(plan.NextPause());
    CHECK(pauses == std::vector<std::int64_t>{0, 0, 7, 7, 7, RaidPlan::kOver, RaidPlan::kOver});
    plan.Restart();
  }
  CHECK(plan.NextPause() == 0);
  plan.Finish();
  CHECK(plan.NextPause() == RaidPlan::kOver);
  CHECK(RaidPlan({}).NextPause() == RaidPlan::kOver);
}

TEST_CASE("stealing effort: the first bad field is named") {
  CHECK(StealingEffort{}.Validate().empty());
  CHECK(StealingEffort{{1'000'000, 1s}, {1, 0ns}, {}}.Validate().empty());
  CHECK(StealingEffort{.aggressive = {-1}}.Validate() ==
        "stealing.aggressive.attempts: -1 is outside 0..1000000");
  CHECK(StealingEffort{.moderate = {1, -1ns}}.Validate() ==
        "stealing.moderate.pause: -1ns is outside 0..1s");
  CHECK(StealingEffort{.relaxed = {1, 2s}}.Validate() ==
        "stealing.relaxed.pause: 2s is outside 0..1s");
  CHECK(!MakeWorkStealing({.stealing = {.relaxed = {-1}}})->Start(nullptr));
}

const StealingEffort kEfforts[] = {
    {.aggressive = {1}},
    {.aggressive = {100}, .moderate = {50, 50us}, .relaxed = {3, 5ms}},
    {.moderate = {20, 1us}},
    {.relaxed = {2, 1s}},
};

TEST_CASE("stealing effort: no work is left lying, whatever the effort") {
  for (const StealingEffort& effort : kEfforts) {
    for (const auto make : {&MakeWorkStealing, &MakeWorkSharing}) {
      std::atomic<int> ran{0};
      auto dispatcher = make({.workers = 3, .stealing = effort});
      REQUIRE(dispatcher->Start(nullptr));
      Turn leaf([&] {
        ran.fetch_add(1);
        return TurnEnd::kIdle;
      });
      Turn root([&] {
        dispatcher->Schedule(leaf);
        return TurnEnd::kIdle;
      });
      for (int i = 1; i <= 2'000; ++i) {
        dispatcher->Schedule(root);
        REQUIRE(Eventually([&] { return ran == i; }));
      }
      CHECK(dispatcher->Stop().empty());
    }
  }
}

// Its workers pause for an hour, much longer than a user may ask for and a test waits for anything.
class LongPauses final : public ThreadedDispatcher {
 public:
  LongPauses()
      : ThreadedDispatcher({.workers = 2, .stealing = {.relaxed = {1'000'000, 1s}}},
                           /*rescue=*/false) {}
  ~LongPauses() override { StopBeforeDestruction(); }

  void Schedule(Schedulable& schedulable) override { Inject(schedulable); }
  const char* name() const override { return "long pauses"; }

 private:
  class PausingWorker final : public ThreadedWorker {
   public:
    PausingWorker(LongPauses& owner, int index) : ThreadedWorker(owner, index), owner_(owner) {}

   private:
    Schedulable* Next() override { return NextSlow(); }
    void Requeue(Schedulable& schedulable) override { owner_.Inject(schedulable); }
    Schedulable* TakeLocal() override { return nullptr; }
    Schedulable* TakeShared(std::int64_t) override { return owner_.injected().Pop(); }

    LongPauses& owner_;
  };

  std::unique_ptr<ThreadedWorker> MakeWorker(int index) override {
    options_.stealing.relaxed.pause = 1h;  // Start has looked at the options
    return std::make_unique<PausingWorker>(*this, index);
  }
  bool HasWork() const override { return !injected().Empty(); }
};

TEST_CASE("stealing effort: work that comes during a pause does not wait for its end") {
  std::atomic<int> ran{0};
  LongPauses dispatcher;
  dispatcher.SetWatch([] {});
  REQUIRE(dispatcher.Start(nullptr));
  Turn turn([&] {
    ran.fetch_add(1);
    return TurnEnd::kIdle;
  });
  for (int i = 1; i <= 100; ++i) {
    REQUIRE(Eventually([&] { return !dispatcher.WatchWhileAwake(); }));  // all pause
    dispatcher.Schedule(turn);
    REQUIRE(Eventually([&] { return ran == i; }));
  }
  CHECK(dispatcher.Stop().empty());
}

TEST_CASE("stealing effort: after the last phase nobody wakes up any more") {
  for (const StealingEffort& effort : kEfforts) {
    if (effort.relaxed.pause > 100ms) continue;
    auto dispatcher = MakeWorkStealing({.workers = 4, .stealing = effort});
    REQUIRE(dispatcher->Start(nullptr));
    // The phases end some time; a poller would never come to rest for so long.
    CHECK(Eventually([&] {
      const std::uint64_t before = dispatcher->Stats().wakeups;
      std::this_thread::sleep_for(200ms);  // what is to be observed is the time itself
      return dispatcher->Stats().wakeups == before;
    }));
  }
}

TEST_CASE("stealing effort: pauses are slept through") {
  auto dispatcher = MakeWorkStealing({.workers = 1, .stealing = {.moderate = {10, 1ms}}});
  REQUIRE(dispatcher->Start(nullptr));
  CHECK(Eventually([&] { return dispatcher->Stats().wakeups == 10; }));
}

TEST_CASE("watching: who runs what is told, until all sleep; the next one to wake up calls") {
  for (const auto make : {&MakeWorkStealing, &MakeWorkSharing}) {
    std::atomic<int> calls{0};
    std::atomic<bool> go{false};
    auto dispatcher = make({.workers = 2});
    dispatcher->SetWatch([&] { calls.fetch_add(1); });
    REQUIRE(dispatcher->Start(nullptr));
    int before = 0;
    // Looked at before: a worker's nap may end just then, and be the one that is told.
    CHECK(Eventually([&] {
      before = calls;
      return !dispatcher->WatchWhileAwake();
    }));
    Turn busy([&] {
      while (!go) std::this_thread::yield();
      return TurnEnd::kIdle;
    });
    dispatcher->Schedule(busy);
    CHECK(Eventually([&] { return calls == before + 1; }));
    int seen = 0;
    std::uint64_t number = 0;
    CHECK(Eventually([&] {
      seen = 0;
      dispatcher->VisitRunning([&](const RunningTurn& turn) {
        CHECK(turn.schedulable == &busy);
        number = turn.number;
        ++seen;
      });
      return seen == 1;
    }));
    CHECK(number == 1);
    CHECK(Eventually([&] { return dispatcher->WatchWhileAwake(); }));
    go = true;
    CHECK(Eventually([&] {
      seen = 0;
      dispatcher->VisitRunning([&](const RunningTurn&) { ++seen; });
      return seen == 0;
    }));
    CHECK(Eventually([&] { return !dispatcher->WatchWhileAwake(); }));
  }
}

}  // namespace
}  // namespace ergon::core::stealing_effort_test
