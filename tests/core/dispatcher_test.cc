// The contract of the interface, on every dispatcher with threads.
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/dispatcher.h>
#include <ergon/core/work_sharing.h>
#include <ergon/core/work_stealing.h>
#include "turns.h"

namespace ergon::core::dispatcher_test {
namespace {

using testing::Endless;
using testing::Eventually;
using testing::kDeadlineNs;
using testing::Task;
using testing::Turn;

using Make = std::unique_ptr<Dispatcher> (*)(DispatcherOptions);
constexpr Make kPolicies[] = {&MakeWorkStealing, &MakeWorkSharing};

// The body runs once for each policy.
template <typename Body>
void ForEachPolicy(Body body) {
  for (Make make : kPolicies) body(make);
}

TEST_CASE("dispatcher: bad options name field and value") {
  CHECK(Dispatcher::Validate({}).empty());
  CHECK(Dispatcher::Validate({.workers = -1}) == "workers: -1 is outside 0..1024");
  CHECK(Dispatcher::Validate({.workers = 1025}) == "workers: 1025 is outside 0..1024");
  CHECK(Dispatcher::Validate({.throughput = 5000}) == "throughput: 5000 is outside 1..4096");
  CHECK(Dispatcher::Validate({.throughput = 0}) == "throughput: 0 is outside 1..4096");
  CHECK(Dispatcher::Validate({.turn_ns = -1}) == "turn_ns: -1ns is outside 0..1s");
  CHECK(Dispatcher::Validate({.turn_limit_ns = -1}) == "turn_limit_ns: -1ns is outside 0..1s");
  CHECK(Dispatcher::Validate({.fiber_stack_bytes = 100}) ==
        "fiber_stack_bytes: 100 is outside 16384..1073741824");
  CHECK(Dispatcher::Validate({.fibers_cached = 1'000'001}) ==
        "fibers_cached: 1000001 is outside 0..1000000");
  CHECK(Dispatcher::Validate({.search_ns = -1}) == "search_ns: -1ns is outside 0..1s");
  ForEachPolicy([](Make make) {
    for (int workers : {-7, 100'000}) {
      auto dispatcher = make({.workers = workers});
      std::string error;
      CHECK_FALSE(dispatcher->Start(&error));
      CHECK(error == "workers: " + std::to_string(workers) + " is outside 0..1024");
      CHECK_FALSE(dispatcher->Start(nullptr));
      CHECK(dispatcher->Stop() == "");
    }
  });
}

TEST_CASE("dispatcher: defaults") {
  ForEachPolicy([](Make make) {
    auto dispatcher = make({});
    CHECK(dispatcher->workers() >= 2);
    CHECK(dispatcher->throughput() == 32);
    CHECK(std::string(dispatcher->name()).substr(0, 5) == "work-");
  });
}

TEST_CASE("dispatcher: start twice, stop twice, not again") {
  ForEachPolicy([](Make make) {
    auto dispatcher = make({.workers = 3});
    std::string error = "x";
    CHECK(dispatcher->Start(&error));
    CHECK(error == "");
    CHECK(dispatcher->Start(&error));
    CHECK(dispatcher->Start(nullptr));
    CHECK(dispatcher->Stop() == "");
    CHECK(dispatcher->Stop() == "");
    CHECK_FALSE(dispatcher->Start(&error));
    CHECK(error == "Dispatcher::Start called after Stop");
  });
}

TEST_CASE("dispatcher: never started, and only destroyed") {
  ForEachPolicy([](Make make) {
    make({});
    auto started = make({});
    CHECK(started->Start(nullptr));
    auto stopped = make({});
    CHECK(stopped->Stop() == "");
    CHECK_FALSE(stopped->Start(nullptr));
  });
}

TEST_CASE("dispatcher: what is scheduled before Start runs after it") {
  ForEachPolicy([](Make make) {
    auto dispatcher = make({});
    Event ran;
    Turn turn([&] {
      ran.Set();
      return TurnEnd::kCompleted;
    });
    dispatcher->Schedule(turn);
    CHECK_FALSE(ran.IsSet());
    CHECK(dispatcher->ReadyApprox() == 1);
    REQUIRE(dispatcher->Start(nullptr));
    CHECK(dispatcher->WaitFor(ran, kDeadlineNs));
    CHECK(dispatcher->Stop() == "");
    CHECK(dispatcher->ReadyApprox() == 0);
    CHECK(dispatcher->Stats().turns == 1);
  });
}

TEST_CASE("dispatcher: Worker::Current is the worker inside, nobody outside") {
  ForEachPolicy([](Make make) {
    CHECK(Worker::Current() == nullptr);
    auto dispatcher = make({.workers = 2});
    REQUIRE(dispatcher->Start(nullptr));
    Event ran;
    bool right = false;
    Turn turn([&] {
      Worker* worker = Worker::Current();
      right = worker != nullptr && &worker->dispatcher() == dispatcher.get() &&
              worker->index() >= 0 && worker->index() < 2;
      ran.Set();
      return TurnEnd::kCompleted;
    });
    dispatcher->Schedule(turn);
    REQUIRE(ran.WaitFor(kDeadlineNs));
    CHECK(right);
  });
}

TEST_CASE("dispatcher: Stop and Start inside a turn") {
  ForEachPolicy([](Make make) {
    auto dispatcher = make({});
    REQUIRE(dispatcher->Start(nullptr));
    Event ran;
    std::string text;
    bool started = false;
    Turn turn([&] {
      text = dispatcher->Stop();
      started = dispatcher->Start(nullptr);
      ran.Set();
      return TurnEnd::kCompleted;
    });
    dispatcher->Schedule(turn);
    REQUIRE(ran.WaitFor(kDeadlineNs));
    CHECK(text ==
          "Dispatcher::Stop called from inside a turn: it would wait for itself; use SignalStop");
    CHECK(started);
    CHECK(dispatcher->Stop() == "");
  });
}

TEST_CASE("dispatcher: SignalStop inside a turn; what that turn makes ready still runs") {
  constexpr int kChain = 1000;
  ForEachPolicy([](Make make) {
    auto dispatcher = make({});
    REQUIRE(dispatcher->Start(nullptr));
    std::atomic<int> ran{0};
    std::vector<std::unique_ptr<Turn>> chain;
    for (int i = 0; i < kChain; ++i) {
      chain.push_back(std::make_unique<Turn>([&, i] {
        if (i == 0) dispatcher->SignalStop();
        if (i + 1 < kChain) dispatcher->Schedule(*chain[static_cast<std::size_t>(i) + 1]);
        ++ran;
        return TurnEnd::kCompleted;
      }));
    }
    dispatcher->Schedule(*chain[0]);
    CHECK(Eventually([&] { return ran.load() == kChain; }));
    CHECK(dispatcher->Stop() == "");
  });
}

TEST_CASE("dispatcher: Stop runs all that is ready first") {
  constexpr int kReady = 3000;
  ForEachPolicy([&](Make make) {
    auto dispatcher = make({});
    REQUIRE(dispatcher->Start(nullptr));
    std::atomic<int> ran{0};
    Turn turn([&] {
      ++ran;
      return TurnEnd::kCompleted;
    });
    std::vector<std::unique_ptr<Turn>> turns;
    for (int i = 0; i < kReady; ++i) {
      turns.push_back(std::make_unique<Turn>([&] {
        ++ran;
        return TurnEnd::kCompleted;
      }));
      dispatcher->Schedule(*turns.back());
    }
    CHECK(dispatcher->Stop() == "");
    CHECK(ran == kReady);
    dispatcher->Schedule(turn);  // ignored
    CHECK(ran == kReady);
  });
}

TEST_CASE("dispatcher: Stop gives up on what never ends, after a second") {
  ForEachPolicy([](Make make) {
    auto dispatcher = make({});
    REQUIRE(dispatcher->Start(nullptr));
    std::vector<Endless> endless(5);
    for (auto& one : endless) dispatcher->Schedule(one);
    CHECK(Eventually([&] { return endless[4].turns.load() > 0; }));
    CHECK(dispatcher->Stop() == "");
  });
}

TEST_CASE("dispatcher: stopped by several threads at once") {
  ForEachPolicy([](Make make) {
    auto dispatcher = make({});
    REQUIRE(dispatcher->Start(nullptr));
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { good += dispatcher->Stop().empty(); });
    }
    for (auto& thread : threads) thread.join();
    CHECK(good == 4);
  });
}

struct RecordingHooks : DispatcherHooks {
  void BeforeTurn(Schedulable& schedulable, int worker) override {
    Note("before", schedulable, worker);
  }
  void AfterTurn(Schedulable& schedulable, int worker, TurnEnd end) override {
    constexpr const char* kNames[] = {"yielded", "idle", "completed"};
    Note(kNames[static_cast<int>(end)], schedulable, worker);
  }
  void AfterCompletion(Schedulable& schedulable, int worker) override {
    Note("completion", schedulable, worker);
  }
  void Note(const char* what, Schedulable& schedulable, int worker) {
    std::lock_guard guard(mutex);
    log.emplace_back(what);
    others += &schedulable != expected || worker < 0 || worker > 1;
  }

  std::mutex mutex;
  std::vector<std::string> log;
  Schedulable* expected = nullptr;
  int others = 0;
};

TEST_CASE("dispatcher: hooks see each turn, its end and the completion") {
  ForEachPolicy([](Make make) {
    auto hooks = std::make_shared<RecordingHooks>();
    auto dispatcher = make({.workers = 2, .hooks = hooks});
    int turns = 0;
    Turn turn([&] { return ++turns < 3 ? TurnEnd::kYielded : TurnEnd::kCompleted; });
    hooks->expected = &turn;
    REQUIRE(dispatcher->Start(nullptr));
    dispatcher->Schedule(turn);
    CHECK(dispatcher->Stop() == "");
    CHECK(hooks->log == std::vector<std::string>{"before", "yielded", "before", "yielded", "before",
                                                 "completed", "completion"});
    CHECK(hooks->others == 0);
  });
}

TEST_CASE("dispatcher: for the hooks a turn that parks ends, and the resumed one is another") {
  ForEachPolicy([](Make make) {
    auto hooks = std::make_shared<RecordingHooks>();
    auto dispatcher = make({.workers = 2, .hooks = hooks});
    Event parked;
    Event done;
    Task task(*dispatcher, [&](Task& self) {
      parked.Set();
      CHECK(self.Block());
      done.Set();
    });
    hooks->expected = &task;
    REQUIRE(dispatcher->Start(nullptr));
    dispatcher->Schedule(task);
    REQUIRE(parked.WaitFor(kDeadlineNs));
    task.Wake();
    REQUIRE(done.WaitFor(kDeadlineNs));
    CHECK(dispatcher->Stop() == "");
    CHECK(hooks->log ==
          std::vector<std::string>{"before", "idle", "before", "completed", "completion"});
    CHECK(hooks->others == 0);
    CHECK(dispatcher->Stats().turns == 2);
    CHECK(dispatcher->Stats().parks == 1);
  });
}

}  // namespace
}  // namespace ergon::core::dispatcher_test
