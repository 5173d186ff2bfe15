#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <ergon/core/clock.h>
#include <ergon/core/turns/worker.h>
#include <ergon/core/work_sharing.h>
#include <ergon/core/work_stealing.h>
#include "turns.h"

namespace ergon::core::worker_test {
namespace {

using testing::Eventually;
using testing::kDeadlineNs;
using testing::kSanitized;
using testing::Task;
using testing::Turn;

TEST_CASE("worker: a parked turn goes on where it was") {
  auto dispatcher = MakeWorkStealing({});
  REQUIRE(dispatcher->Start(nullptr));
  Event done;
  int value = 0;
  Task task(*dispatcher, [&](Task& self) {
    int local = 1;
    for (int i = 0; i < 100; ++i) {
      // Woken by another turn, before or after it has parked.
      Turn waker([&] {
        self.Wake();
        return TurnEnd::kCompleted;
      });
      dispatcher->Schedule(waker);
      CHECK(self.Block());
      ++local;
    }
    value = local;
    done.Set();
  });
  dispatcher->Schedule(task);
  REQUIRE(done.WaitFor(kDeadlineNs));
  CHECK(value == 101);
}

// Waits for the coarse clock to go on, and returns the new time.
std::int64_t NextTick() {
  const std::int64_t before = SteadyCoarseNow();
  std::int64_t now = before;
  while (now == before) now = SteadyCoarseNow();
  return now;
}

// Turns of one worker, one after the other, that note the time by the clock, and by their worker.
struct TimedTurns {
  struct Times {
    std::int64_t before;
    std::int64_t told;
    std::int64_t after;
  };

  // As many turns, of which each goes on with `rest`.
  void Run(Dispatcher& dispatcher, int count, const std::function<void()>& rest) {
    Event done;
    Turn turn([&] {
      const std::int64_t before = SteadyCoarseNow();
      const std::int64_t told = Worker::Current()->TurnTime();
      times.push_back({before, told, SteadyCoarseNow()});
      rest();
      if (--count > 0) return TurnEnd::kYielded;
      done.Set();
      return TurnEnd::kCompleted;
    });
    dispatcher.Schedule(turn);
    REQUIRE(done.WaitFor(kDeadlineNs));
  }

  std::vector<Times> times;
};

TEST_CASE("worker: long turns are told exactly when they began, and a worker alone tells all") {
  for (const int workers : {1, 2}) {
    auto dispatcher = MakeWorkStealing({.workers = workers});
    REQUIRE(dispatcher->Start(nullptr));
    TimedTurns turns;
    turns.Run(*dispatcher, 20, NextTick);
    if (workers == 1) turns.Run(*dispatcher, 40, [] {});
    // With others, the first ones may be told the time of the search before them: eight at most, as of short turns.
    for (std::size_t i = workers == 1 ? 0 : 8; i < turns.times.size(); ++i) {
      CHECK(turns.times[i].told >= turns.times[i].before);
      CHECK(turns.times[i].told <= turns.times[i].after);
    }
  }
}

TEST_CASE("worker: short turns are told when one of the seven before them began") {
  auto dispatcher = MakeWorkStealing({.workers = 2});
  REQUIRE(dispatcher->Start(nullptr));
  TimedTurns turns;
  turns.Run(*dispatcher, 40, [] {});
  for (std::size_t i = 0; i < turns.times.size(); ++i) {
    CHECK(turns.times[i].told >= turns.times[i < 7 ? 0 : i - 7].before);
    CHECK(turns.times[i].told <= turns.times[i].after);
  }
}

TEST_CASE("worker: after a long turn the time is new, if another worker has looked") {
  auto dispatcher = MakeWorkStealing({.workers = 2});
  REQUIRE(dispatcher->Start(nullptr));
  for (int round = 0; round < 10; ++round) {
    TimedTurns turns;
    int turn = 0;
    std::int64_t seen = 0;
    std::vector<std::unique_ptr<Turn>> others;
    turns.Run(*dispatcher, 40, [&] {
      if (++turn != 30) return;
      NextTick();
      Event looked;
      others.push_back(std::make_unique<Turn>([&] {
        seen = Worker::Current()->TurnTime();
        looked.Set();
        return TurnEnd::kCompleted;
      }));
      dispatcher->Schedule(*others.back());
      CHECK(looked.WaitFor(kDeadlineNs));
    });
    CHECK(turns.times[30].told >= seen);
    CHECK(seen > turns.times[29].before);
  }
}

TEST_CASE("worker: after a sleep the time is new") {
  auto dispatcher = MakeWorkStealing({.workers = 2});
  REQUIRE(dispatcher->Start(nullptr));
  TimedTurns turns;
  turns.Run(*dispatcher, 40, [] {});
  for (int i = 0; i < 20; ++i) {
    (void)NextTick();
    turns.Run(*dispatcher, 1, [] {});
    CHECK(turns.times.back().told >= turns.times.back().before - kCoarseLag);
  }
}

TEST_CASE("worker: parked turns move between workers") {
  constexpr int kMoves = 20;
  std::vector<std::unique_ptr<Turn>> blockers;  // outlive the dispatcher
  std::atomic<int> resumed{0};
  auto dispatcher = MakeWorkStealing({.workers = 2});
  REQUIRE(dispatcher->Start(nullptr));
  Event done;
  int moves = 0;
  bool right = true;
  Task task(*dispatcher, [&](Task& self) {
    for (int i = 1; moves < kMoves; ++i) {
      Worker* before = Worker::Current();
      // Wakes the task and keeps its worker busy until the task has been resumed, by the other one.
      blockers.push_back(std::make_unique<Turn>([&, i] {
        self.Wake();
        Eventually([&] { return resumed.load() >= i; });
        return TurnEnd::kCompleted;
      }));
      dispatcher->Schedule(*blockers.back());
      right = right && self.Block();
      resumed = i;
      Worker* after = Worker::Current();
      right = right && after != nullptr && &after->dispatcher() == dispatcher.get();
      moves += before != after;
    }
    done.Set();
  });
  dispatcher->Schedule(task);
  REQUIRE(done.WaitFor(kDeadlineNs));
  CHECK(right);
  CHECK(dispatcher->Stop() == "");
}

TEST_CASE("worker: very many parked at once") {
  for (bool stealing : {true, false}) {
    // The address sanitizer takes a third of a millisecond for each, and the thread sanitizer more than one.
    const std::size_t kMany = !kSanitized ? 10'000 : !ERGON_TSAN ? 3'000 : stealing ? 500 : 200;
    auto dispatcher = stealing ? MakeWorkStealing({.workers = 2}) : MakeWorkSharing({.workers = 2});
    REQUIRE(dispatcher->Start(nullptr));
    std::atomic<std::size_t> parked{0};
    std::atomic<std::size_t> resumed{0};
    std::atomic<std::size_t> failed{0};
    std::vector<std::unique_ptr<Task>> tasks;
    for (std::size_t i = 0; i < kMany; ++i) {
      tasks.push_back(std::make_unique<Task>(*dispatcher, [&, i](Task& self) {
        std::string local = "local of " + std::to_string(i);
        parked.fetch_add(1);
        if (!self.Block() || local != "local of " + std::to_string(i)) failed.fetch_add(1);
        resumed.fetch_add(1);
      }));
      dispatcher->Schedule(*tasks.back());
    }
    REQUIRE(Eventually([&] { return parked.load() == kMany; }));
    REQUIRE(Eventually([&] { return dispatcher->Stats().parks == kMany; }));
    for (auto& task : tasks) task->Wake();
    CHECK(Eventually([&] { return resumed.load() == kMany; }));
    CHECK(failed == 0);
    CHECK(dispatcher->Stop() == "");
  }
}

// Calls in the middle of handlers: what is caught stays with the fiber, on whichever worker it goes
// on.
TEST_CASE("worker: exceptions across parks") {
  constexpr int kCallers = 20;
  constexpr int kCalls = kSanitized ? 50 : 500;
  auto dispatcher = MakeWorkStealing({.workers = 2});
  REQUIRE(dispatcher->Start(nullptr));

  // Wakes its callers one after another, two at once from two servers.
  struct Server final : Schedulable {
    TurnEnd RunTurn() override {
      for (int handled = 0; handled < 4; ++handled) {
        Task* caller = nullptr;
        {
          std::lock_guard guard(lock);
          if (callers.empty()) {
            idle = true;
            return TurnEnd::kIdle;
          }
          caller = callers.back();
          callers.pop_back();
        }
        caller->Wake();
      }
      return TurnEnd::kYielded;
    }
    bool Call(Task& caller) {
      bool schedule;
      {
        std::lock_guard guard(lock);
        callers.push_back(&caller);
        schedule = std::exchange(idle, false);
      }
      if (schedule) dispatcher->Schedule(*this);
      return caller.Block();
    }
    Dispatcher* dispatcher = nullptr;
    SpinLock lock;
    std::vector<Task*> callers;
    bool idle = true;
  } servers[2];
  for (Server& server : servers) server.dispatcher = dispatcher.get();

  std::atomic<int> done{0};
  std::atomic<int> bad{0};
  std::vector<std::unique_ptr<Task>> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.push_back(std::make_unique<Task>(*dispatcher, [&, c](Task& self) {
      for (int i = 0; i < kCalls; ++i) {
        const std::string text = std::to_string(c) + "/" + std::to_string(i);
        try {
          if (i % 3 == 0) throw std::runtime_error(text);
          if (!servers[c % 2].Call(self)) ++bad;
        } catch (const std::exception& caught) {
          if (!servers[c % 2].Call(self)) ++bad;
          if (caught.what() != text || std::uncaught_exceptions() != 0) ++bad;
          try {
            if (!servers[(c + 1) % 2].Call(self)) ++bad;
            throw;
          } catch (const std::exception& again) {
            if (again.what() != text) ++bad;
          }
        }
        if (std::current_exception() != nullptr) ++bad;
      }
      ++done;
    }));
    dispatcher->Schedule(*callers.back());
  }
  CHECK(Eventually([&] { return done.load() == kCallers; }));
  CHECK(bad == 0);
  CHECK(dispatcher->Stop() == "");
}

[[gnu::noinline]] int Recurse(int depth, Task& self) {
  volatile char frame[256];
  frame[0] = static_cast<char>(depth % 100);
  if (depth == 0) return self.Block() ? 1 : 0;
  return Recurse(depth - 1, self) + (frame[0] - depth % 100);
}

TEST_CASE("worker: parks deep in the stack") {
  auto dispatcher = MakeWorkStealing({.fiber_stack_bytes = 512 * 1024});
  REQUIRE(dispatcher->Start(nullptr));
  std::atomic<int> done{0};
  std::atomic<int> parked{0};
  std::vector<std::unique_ptr<Task>> tasks;
  for (int i = 0; i < 20; ++i) {
    tasks.push_back(std::make_unique<Task>(*dispatcher, [&](Task& self) {
      ++parked;
      done += Recurse(1000, self);
    }));
    dispatcher->Schedule(*tasks.back());
  }
  REQUIRE(Eventually([&] { return parked.load() == 20; }));
  for (auto& task : tasks) task->Wake();
  CHECK(Eventually([&] { return done.load() == 20; }));
  CHECK(dispatcher->Stop() == "");
}

TEST_CASE("worker: turns that stay parked do not hold up Stop or the destructor") {
  for (int round = 0; round < 5; ++round) {
    auto dispatcher = MakeWorkStealing({});
    REQUIRE(dispatcher->Start(nullptr));
    std::vector<std::unique_ptr<Task>> tasks;
    for (int i = 0; i < 100; ++i) {
      tasks.push_back(std::make_unique<Task>(*dispatcher, [](Task& self) {
        if (self.Block()) FAIL("nobody wakes it");
      }));
      dispatcher->Schedule(*tasks.back());
    }
    REQUIRE(Eventually([&] { return dispatcher->Stats().parks == 100; }));
    CHECK(dispatcher->Stop() == "");
  }
}

TEST_CASE("worker: Park fails cleanly without memory for a stack") {
  if (kSanitized) return;  // their shadow memory does not live with a limit
  auto dispatcher = MakeWorkSharing({.workers = 1, .fiber_stack_bytes = 64 * 1024 * 1024});
  REQUIRE(dispatcher->Start(nullptr));
  Event done;
  bool parked = true;
  Task task(*dispatcher, [&](Task& self) {
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    rlimit little = before;
    little.rlim_cur = 1024 * 1024;
    setrlimit(RLIMIT_AS, &little);
    parked = self.Block();
    setrlimit(RLIMIT_AS, &before);
    done.Set();
  });
  dispatcher->Schedule(task);
  REQUIRE(done.WaitFor(kDeadlineNs));
  CHECK_FALSE(parked);
  CHECK(dispatcher->Stop() == "");
}

}  // namespace
}  // namespace ergon::core::worker_test
