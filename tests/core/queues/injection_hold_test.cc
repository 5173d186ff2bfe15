#include <ergon/core/queues/injection_hold.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/work_sharing.h>
#include <ergon/core/work_stealing.h>
#include "turns.h"

namespace ergon::core::injection_hold_test {
namespace {

using testing::Eventually;
using testing::kDeadlineNs;

// Says in which order they had their turns.
class Ordered final : public Schedulable {
 public:
  explicit Ordered(std::atomic<int>& turns) : turns_(turns) {}
  TurnEnd RunTurn() override {
    place.store(++turns_);
    return TurnEnd::kCompleted;
  }

  std::atomic<int> place{0};  // 0: had none

 private:
  std::atomic<int>& turns_;
};

// With one worker, which takes what comes from outside in its order.
class Bench {
 public:
  explicit Bench(std::unique_ptr<Dispatcher> (*make)(DispatcherOptions))
      : dispatcher(make({.workers = 1})) {
    REQUIRE(dispatcher->Start(nullptr));
  }
  ~Bench() { CHECK(dispatcher->Stop().empty()); }

  Ordered& Make() { return *made_.emplace_back(std::make_unique<Ordered>(turns_)); }
  // Another thread's, which has had its turn when this returns.
  void RunFromElsewhere(Ordered& one) {
    std::thread([&] { dispatcher->Schedule(one); }).join();
    REQUIRE(Eventually([&] { return one.place != 0; }));
  }

  const std::unique_ptr<Dispatcher> dispatcher;

 private:
  std::atomic<int> turns_{0};
  std::vector<std::unique_ptr<Ordered>> made_;
};

template <class Body>
void ForEachPolicy(Body body) {
  for (auto* make : {&MakeWorkStealing, &MakeWorkSharing}) {
    Bench bench(make);
    body(bench);
  }
}

}  // namespace

TEST_CASE("injection hold: what a thread schedules is ready when the hold ends, in its order") {
  ForEachPolicy([](Bench& bench) {
    Ordered& first = bench.Make();
    Ordered& second = bench.Make();
    Ordered& foreign = bench.Make();
    {
      const InjectionHold hold;
      const InjectionHold inner;  // does nothing
      bench.dispatcher->Schedule(first);
      bench.dispatcher->Schedule(second);
      bench.RunFromElsewhere(foreign);
      CHECK(first.place == 0);
    }
    CHECK(InjectionHold::Current() == nullptr);
    REQUIRE(Eventually([&] { return second.place != 0; }));
    CHECK(foreign.place == 1);
    CHECK(first.place == 2);
    CHECK(second.place == 3);
    Ordered& fourth = bench.Make();
    bench.dispatcher->Schedule(fourth);  // at once again
    CHECK(Eventually([&] { return fourth.place == 4; }));
  });
}

TEST_CASE(
    "injection hold: more than it has room for, and what is for another dispatcher, waits less") {
  constexpr int kMany = 1'000;
  ForEachPolicy([](Bench& bench) {
    Bench other(&MakeWorkStealing);
    std::vector<Ordered*> all;
    Ordered& elsewhere = other.Make();
    Ordered& last = bench.Make();
    {
      const InjectionHold hold;
      for (int i = 0; i < kMany; ++i) bench.dispatcher->Schedule(*all.emplace_back(&bench.Make()));
      CHECK(Eventually([&] { return all[kMany / 2]->place != 0; }));
      other.dispatcher->Schedule(elsewhere);
      CHECK(Eventually([&] { return all.back()->place != 0; }));
      bench.dispatcher->Schedule(last);
      CHECK(Eventually([&] { return elsewhere.place != 0; }));
    }
    CHECK(Eventually([&] { return last.place == kMany + 1; }));
    for (int i = 0; i < kMany; ++i) CHECK(all[i]->place == i + 1);
  });
}

TEST_CASE(
    "injection hold: a thread that waits for a turn by its dispatcher does not wait in vain") {
  ForEachPolicy([](Bench& bench) {
    const InjectionHold hold;
    for (const bool has_timeout : {false, true}) {
      Event ended;
      testing::Turn turn([&] {
        ended.Set();
        return TurnEnd::kCompleted;
      });
      bench.dispatcher->Schedule(turn);
      if (has_timeout) {
        CHECK(bench.dispatcher->WaitFor(ended, kDeadlineNs));
      } else {
        bench.dispatcher->Wait(ended);
      }
    }
  });
}

}  // namespace ergon::core::injection_hold_test
