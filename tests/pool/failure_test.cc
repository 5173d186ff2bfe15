// Workers that end, do not start, or end too often.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <kit/manual_time.h>
#include <kit/node_fixture.h>
#include <kit/tally.h>
#include <kit/threads.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;
using kit::Answer;
using kit::Ask;
using kit::Crash;
using kit::Eventually;
using kit::Hold;
using kit::Job;
using kit::ManagedPool;
using kit::Prober;
using kit::Sequence;

// Waits until the worker at `place` is another one than `old`, ready.
bool EventuallyReplaced(kit::PoolHandle& pool, std::size_t place, gen::PID old, int size) {
  return Eventually([&] {
    const auto workers = pool.Workers();
    return workers.size() == static_cast<std::size_t>(size) && workers[place] != old &&
           pool.Stats()["workers_ready"] == size;
  });
}

TEST_CASE("A worker that ends, in whatever way, is replaced in its place; restarts + 1") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3);
  kit::ProberHandle watcher(fixture.node);
  const auto before = pool.Workers();
  watcher.Watch(before[0]);

  gen::Reason reason;
  SUBCASE("normally") {
    fixture.node.Send(pool.pid(), Job{0, kit::End(gen::Reason::Normal())}).value();
  }
  SUBCASE("with shutdown") {
    reason = gen::Reason::Shutdown();
    fixture.node.Send(pool.pid(), Job{0, kit::End(reason)}).value();
  }
  SUBCASE("with an error") {
    reason = gen::Reason::Error("disk full");
    fixture.node.Send(pool.pid(), Job{0, kit::End(reason)}).value();
  }
  SUBCASE("by an exception") {
    reason = gen::Reason::Panic("boom (handling ergon::kit::Job)");
    fixture.node.Send(pool.pid(), Job{0, Crash("boom")}).value();
  }
  SUBCASE("by an exception that is no std::exception") {
    reason = gen::Reason::Panic("an exception of type int (handling ergon::kit::Job)");
    fixture.node.Send(pool.pid(), Job{0, [](kit::Worker&) -> gen::Status { throw 42; }}).value();
  }
  SUBCASE("by stopping instead of answering") {
    reason = gen::Reason::Error("no answer");
    auto then = [reason](kit::Worker&, gen::PID, gen::Ref) -> gen::CallResult {
      return gen::Stop(reason);
    };
    const auto answer =
        fixture.node.Call<Answer>(pool.pid(), Ask{0, then}, {.timeout = kit::kDeadline});
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().ToString() == "process terminated: no answer");
  }
  SUBCASE("after an answer") {
    reason = gen::Reason::Error("enough");
    auto then = [reason](kit::Worker& worker, gen::PID, gen::Ref) {
      return gen::ReplyAndStop(Answer{1, worker.Self()}, reason);
    };
    CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{0, then}).value().value == 1);
  }
  SUBCASE("killed") {
    reason = gen::Reason::Kill();
    fixture.node.Send(pool.pid(), Job{0}).value();
    REQUIRE(pool.EventuallyHandled(1));
    fixture.node.Kill(before[0]).value();
  }
  SUBCASE("by somebody's exit signal") {
    reason = gen::Reason::Error("leave");
    fixture.node.Send(pool.pid(), Job{0}).value();
    REQUIRE(pool.EventuallyHandled(1));
    fixture.node.SendExit(before[0], reason).value();
  }

  REQUIRE(watcher.EventuallyDown(before[0]));
  const auto seen = watcher.inbox().ReasonOf(before[0]);
  CHECK(seen == reason);
  REQUIRE(EventuallyReplaced(pool, 0, before[0], 3));
  const auto after = pool.Workers();
  CHECK(after[1] == before[1]);
  CHECK(after[2] == before[2]);
  const auto stats = pool.Stats();
  CHECK(stats["pool_size"] == 3);
  CHECK(stats["worker_restarts"] == 1);
  CHECK(fixture.ChildrenOf(pool.pid()).size() == 3);
  // Terminate was called once, unless it was killed or not.
  CHECK(fixture.workers->ReasonsOf(before[0]).size() == 1);

  // It stood at the back and so does its successor.
  for (int i = 1; i <= 6; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyAtRest());
  for (int i = 1; i <= 6; ++i) {
    CAPTURE(i);
    CHECK(fixture.workers->jobs.WorkerOf(i) == after[i % 3]);
  }
}

TEST_CASE("A replacement starts with the same factory and arguments") {
  class Greedy : public act::Actor {
   public:
    explicit Greedy(std::string name) : name_(std::move(name)) {}

   private:
    gen::Status Init(const gen::Args& args) override {
      number_ = args.Get<int>(0).value();
      return gen::Continue();
    }
    gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
      return gen::Reply(fmt::format("{} {} {}", name_, number_, ++calls_));
    }
    std::string name_;
    int number_ = 0;
    int calls_ = 0;
  };
  kit::NodeFixture fixture;
  auto options = fixture.Options(1);
  options.worker_factory = gen::Factory<Greedy>("greedy");
  options.worker_args = gen::MakeArgs(7);
  auto pool = fixture.StartPool(options);
  const auto ask = [&] { return fixture.node.Call<std::string>(pool.pid(), 0).value(); };
  CHECK(ask() == "greedy 7 1");
  CHECK(ask() == "greedy 7 2");
  const auto old = pool.Workers()[0];
  fixture.node.Kill(old).value();
  REQUIRE(EventuallyReplaced(pool, 0, old, 1));
  CHECK(ask() == "greedy 7 1");  // a new state
}

TEST_CASE("The same place is killed 100 times") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3);
  const auto before = pool.Workers();
  for (int round = 1; round <= 100; ++round) {
    CAPTURE(round);
    const gen::PID victim = pool.Workers().at(1);
    if (round % 2 == 0) {
      fixture.node.Kill(victim).value();
    } else {
      fixture.node.Send(victim, Job{-round, Crash("again")}).value();
    }
    REQUIRE(EventuallyReplaced(pool, 1, victim, 3));
  }
  const auto after = pool.Workers();
  CHECK(after[0] == before[0]);
  CHECK(after[2] == before[2]);
  CHECK(pool.Stats()["worker_restarts"] == 100);
  CHECK(fixture.ChildrenOf(pool.pid()).size() == 3);
  for (int i = 0; i < 9; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(9));
  for (int i = 0; i < 9; ++i) CHECK(fixture.workers->jobs.WorkerOf(i) == after[i % 3]);
}

TEST_CASE("Back-off: the first quick death is replaced at once, the second only later") {
  const kit::ManualTime time;  // stands still: all deaths are quick ones
  kit::NodeFixture fixture(time.Into());
  auto options = fixture.Options(2);
  options.restart_backoff_min = 1h;
  options.restart_backoff_max = 2h;
  auto pool = fixture.StartPool(options);
  const gen::PID first = pool.Workers()[0];
  const gen::PID sibling = pool.Workers()[1];
  fixture.node.Kill(first).value();
  REQUIRE(EventuallyReplaced(pool, 0, first, 2));
  fixture.node.Kill(pool.Workers()[0]).value();
  REQUIRE(Eventually([&] { return pool.Stats()["workers_ready"] == 1; }));

  // The other one does the work meanwhile.
  for (int i = 0; i < 10; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(10));
  CHECK(fixture.workers->jobs.ValuesOf(sibling) == Sequence(0, 10));
  auto stats = pool.Stats();
  CHECK(stats["pool_size"] == 2);  // the place is not given up
  CHECK(stats["worker_restarts"] == 1);
  CHECK(pool.Workers() == std::vector<gen::PID>{sibling});
  // Its place may be taken away.
  CHECK(pool.Grow(1).value() == 3);
  CHECK(pool.Stats()["workers_ready"] == 2);
}

TEST_CASE("All workers wait for their replacement: messages wait at the pool, up to a bound") {
  const kit::ManualTime time;  // stands still until both deaths, quick ones, have happened
  kit::NodeFixture fixture(time.Into());
  int bound = 0;
  SUBCASE("unbounded") {}
  SUBCASE("bounded") { bound = 10; }
  auto options = fixture.Options(1, bound);
  options.restart_backoff_min = 1h;
  options.restart_backoff_max = 1h;
  auto pool = fixture.StartPool(options);
  const gen::PID first = pool.Workers()[0];
  fixture.node.Kill(first).value();
  REQUIRE(EventuallyReplaced(pool, 0, first, 1));
  const gen::PID second = pool.Workers()[0];
  fixture.node.Kill(second).value();
  REQUIRE(Eventually([&] { return pool.Stats()["workers_ready"] == 0; }));

  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    const auto sent = fixture.node.Send(pool.pid(), Job{accepted});
    if (sent) {
      ++accepted;
    } else {
      CHECK(sent.error() == gen::ErrProcessMailboxFull);
      ++refused;
    }
  }
  if (bound == 0) CHECK(refused == 0);
  if (bound > 0) {
    // One more may come between the pool's look at the first and its look at what is left.
    CHECK(accepted >= bound);
    CHECK(accepted <= bound + 1);
    CHECK(refused == 200 - accepted);
    const auto call = fixture.node.Call<Answer>(pool.pid(), Ask{1}, {.timeout = kit::kDeadline});
    REQUIRE_FALSE(call.has_value());
    CHECK(call.error() == gen::ErrProcessMailboxFull);
  }
  CHECK(fixture.workers->jobs.size() == 0);
  CHECK(pool.Stats()["messages_queued"] == accepted);

  // A new worker takes them over, in their order.
  REQUIRE(pool.Grow(1).value() == 2);
  CHECK(time.PassUntil([&] { return fixture.workers->jobs.size() == std::size_t(accepted); }, 1ms));
  REQUIRE(pool.EventuallyAtRest());
  CHECK(fixture.workers->jobs.Values() == Sequence(0, accepted));
}

TEST_CASE("All workers are killed at once, again and again, with 10^4 messages on the way") {
  constexpr int kWorkers = 8;
  constexpr int kSenders = 4;
  constexpr int kEach = kit::Scaled(10'000, 4);
  kit::NodeFixture fixture;
  auto tally = std::make_shared<kit::Tally>(kSenders * kEach);
  auto options = fixture.Options(kWorkers);
  options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
  auto pool = fixture.StartPool(options);

  std::atomic<int> sending{kSenders};
  std::atomic<int> refused{0};
  kit::Threads senders;
  for (int s = 0; s < kSenders; ++s) {
    senders.Start([&, s] {
      for (int i = 0; i < kEach; ++i) {
        if (!fixture.node.Send(pool.pid(), kit::Numbered{s * kEach + i})) refused.fetch_add(1);
      }
      sending.fetch_sub(1);
    });
  }
  do {
    for (gen::PID worker : pool.Workers()) (void)fixture.node.Kill(worker);
  } while (sending > 0);
  senders.Join();

  REQUIRE(pool.EventuallyAtRest());
  REQUIRE(pool.EventuallyComplete(kWorkers));
  const auto stats = pool.Stats();
  CAPTURE(stats.ToString());
  CHECK(refused == 0);  // mailboxes are unbounded: somebody takes each
  CHECK(stats["messages_forwarded"] == kSenders * kEach);
  CHECK(stats["messages_unhandled"] == 0);
  CHECK(tally->NoneTwice());
  // What was being handled at the end of its worker may have been finished, or not.
  CHECK(tally->Total() >= stats["messages_handled"]);
  CHECK(tally->Total() <= stats["messages_handled"] + stats["messages_lost"]);
  CHECK(stats["messages_lost"] <= stats["worker_restarts"]);
  // One may still have to notice that it was killed.
  CHECK(Eventually([&] { return fixture.ChildrenOf(pool.pid()).size() == kWorkers; }));
}

TEST_CASE("All workers crash at once with 10^4 messages queued: one message each is lost") {
  constexpr int kWorkers = 8;
  constexpr int kCount = kit::Scaled(10'000, 5);
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(kWorkers);
  kit::Gate gate(fixture.node);
  for (int i = 0; i < kWorkers; ++i) {
    fixture.node.Send(pool.pid(), Job{-1 - i, Then(Hold(gate), Crash("all at once"))}).value();
  }
  REQUIRE(Eventually([&] { return gate.Entered() == kWorkers; }));
  for (int i = 0; i < kCount; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  gate.Open();
  REQUIRE(Eventually([&] { return fixture.workers->jobs.size() == kWorkers + kCount; }));
  REQUIRE(Eventually([&] { return pool.Stats()["worker_restarts"] == kWorkers; }));
  REQUIRE(pool.EventuallyAtRest());
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(-kWorkers, kWorkers + kCount));
  const auto stats = pool.Stats();
  CHECK(stats["messages_lost"] == kWorkers);
  CHECK(stats["messages_handled"] == kCount);
}

TEST_CASE("A worker ends with a queue: others handle it, in its order, to the message") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3);
  const auto workers = pool.Workers();
  kit::Gate crash(fixture.node);
  kit::Gate others(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Then(Hold(crash), Crash("boom"))}).value();
  fixture.node.Send(pool.pid(), Job{1, Hold(others)}).value();
  fixture.node.Send(pool.pid(), Job{2, Hold(others)}).value();
  for (int i = 3; i < 33; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(Eventually([&] { return crash.Entered() + others.Entered() == 3; }));
  auto stats = pool.Stats();
  CHECK(stats["messages_queued"] == 30);

  crash.Open();
  REQUIRE(EventuallyReplaced(pool, 0, workers[0], 3));
  CHECK(Eventually([&] { return pool.Stats()["messages_salvaged"] == 10; }));
  others.Open();
  REQUIRE(pool.EventuallyHandled(32));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 33));
  stats = pool.Stats();
  CHECK(stats["messages_lost"] == 1);
  CHECK(stats["messages_forwarded"] == 33);
  CHECK(stats["worker_restarts"] == 1);
  // Each of the takers has its part of the queue in the old order.
  for (gen::PID worker : pool.Workers()) {
    std::vector<int> moved;
    for (const int value : fixture.workers->jobs.ValuesOf(worker)) {
      if (value >= 3 && value % 3 == 0) moved.push_back(value);
    }
    CHECK(std::is_sorted(moved.begin(), moved.end()));
  }
}

TEST_CASE("A one-worker pool keeps the order exactly, over any number of crashes") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  constexpr int kCount = kit::Scaled(5'000, 5);
  for (int i = 0; i < kCount; ++i) {
    if (i % 100 == 99) {
      fixture.node.Send(pool.pid(), Job{i, Crash("every hundredth")}).value();
    } else {
      fixture.node.Send(pool.pid(), Job{i}).value();
    }
  }
  REQUIRE(Eventually([&] { return fixture.workers->jobs.size() == kCount; }));
  REQUIRE(pool.EventuallyAtRest());
  REQUIRE(Eventually([&] { return pool.Stats()["worker_restarts"] == kCount / 100; }));
  CHECK(fixture.workers->jobs.Values() == Sequence(0, kCount));
  const auto stats = pool.Stats();
  CHECK(stats["messages_lost"] == kCount / 100);
}

TEST_CASE("Bounded workers: the queue of a dead one fits into its successor") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2, 3);
  const auto workers = pool.Workers();
  kit::Gate crash(fixture.node);
  kit::Gate other(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Then(Hold(crash), Crash("boom"))}).value();
  fixture.node.Send(pool.pid(), Job{1, Hold(other)}).value();
  REQUIRE(Eventually([&] { return crash.Entered() + other.Entered() == 2; }));
  for (int i = 2; i < 8; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  CHECK(fixture.node.Send(pool.pid(), Job{8}).error() == gen::ErrProcessMailboxFull);
  crash.Open();
  REQUIRE(Eventually([&] { return fixture.workers->done.size() == 3; }));
  CHECK(fixture.workers->done.Values() == std::vector<int>{2, 4, 6});
  other.Open();
  REQUIRE(pool.EventuallyHandled(7));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 8));
}

TEST_CASE("No room for the queue of a dead worker, but a successor is due: it waits, in order") {
  const kit::ManualTime time;  // stands still until both deaths, quick ones, have happened
  kit::NodeFixture fixture(time.Into());
  auto options = fixture.Options(2, 2);
  options.restart_backoff_min = 1h;  // no successor for a while
  options.restart_backoff_max = 1h;
  auto pool = fixture.StartPool(options);
  const gen::PID first = pool.Workers()[0];
  fixture.node.Kill(first).value();
  REQUIRE(EventuallyReplaced(pool, 0, first, 2));

  kit::Gate crash(fixture.node);
  kit::Gate other(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Then(Hold(crash), Crash("boom"))}).value();
  fixture.node.Send(pool.pid(), Job{1, Hold(other)}).value();
  REQUIRE(Eventually([&] { return crash.Entered() + other.Entered() == 2; }));
  std::vector<std::future<gen::Result<Answer>>> answers;
  for (int i = 0; i < 4; ++i) {
    answers.push_back(
        fixture.node.CallAsync<Answer>(pool.pid(), Ask{i}, {.timeout = gen::kInfinite}));
  }
  crash.Open();
  REQUIRE(Eventually([&] { return pool.Stats()["workers_ready"] == 1; }));
  CHECK(Eventually([&] { return pool.Stats()["messages_queued"] == 4; }));
  other.Open();
  // The pool looks again from time to time.
  REQUIRE(time.PassUntil([&] { return fixture.workers->calls.size() == 4; }, 1ms));
  for (int i = 0; i < 4; ++i) CHECK(answers[i].get().value().value == i);
  REQUIRE(pool.EventuallyHandled(5));
  CHECK(fixture.workers->calls.Values() == std::vector<int>{1, 3, 0, 2});
  CHECK(pool.Stats()["messages_lost"] == 1);
}

TEST_CASE("Nobody has room for a queue that was taken over: it waits until somebody has") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2, 2);
  const auto workers = pool.Workers();
  kit::Gate leaving(fixture.node);
  kit::Gate staying(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Then(Hold(leaving), Crash("boom"))}).value();
  fixture.node.Send(pool.pid(), Job{1, Hold(staying)}).value();
  REQUIRE(Eventually([&] { return leaving.Entered() + staying.Entered() == 2; }));
  std::vector<std::future<gen::Result<Answer>>> answers;
  for (int i = 0; i < 4; ++i) {
    answers.push_back(
        fixture.node.CallAsync<Answer>(pool.pid(), Ask{i}, {.timeout = gen::kInfinite}));
  }
  SUBCASE("of one that fails while it drains") {
    REQUIRE(pool.Shrink(1).value() == 1);
    leaving.Open();
  }
  SUBCASE("of one that is taken out now") { REQUIRE(pool.ShrinkNow(1).value() == 1); }
  REQUIRE(Eventually([&] { return pool.Stats()["messages_salvaged"] == 2; }));
  CHECK(pool.Stats()["messages_queued"] == 4);
  // They have their places; who comes now gets an error, but for the one that is let in first.
  const auto sent = fixture.node.Send(pool.pid(), Job{9});
  CHECK(fixture.node.Send(pool.pid(), Job{10}).error() == gen::ErrProcessMailboxFull);
  staying.Open();
  for (auto& answer : answers) CHECK(answer.get().value().worker == workers[1]);
  REQUIRE(pool.EventuallyAtRest());
  const auto stats = pool.Stats();
  CHECK(stats["messages_lost_full"] == 0);
  CHECK(stats["messages_lost"] == 1);
  CHECK(stats["messages_forwarded"] == 6 + (sent ? 1 : 0));
}

TEST_CASE("What was handled at the crash is not run again, and its caller is told at once") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  const gen::CallOptions patient{.timeout = gen::kInfinite};

  SUBCASE("from a thread") {
    const auto answer =
        fixture.node.Call<Answer>(pool.pid(), Ask{0, kit::CrashCall("boom")}, patient);
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error() == gen::ErrProcessTerminated);
    CHECK(answer.error().ToString() ==
          "process terminated: panic: boom (handling ergon::kit::Ask)");
  }
  SUBCASE("from a process") {
    kit::ProberHandle caller(fixture.node);
    std::string text;
    caller
        .Run([&](Prober& self) {
          text = self.Call<Answer>(pool.pid(), Ask{0, kit::CrashCall("boom")}, patient)
                     .error()
                     .ToString();
        })
        .value();
    CHECK(text == "process terminated: panic: boom (handling ergon::kit::Ask)");
  }
  SUBCASE("of a worker that is killed while it waits in a call") {
    kit::Gate gate(fixture.node);
    auto then = [pid = gate.pid()](kit::Worker& worker, gen::PID, gen::Ref) -> gen::CallResult {
      if (!worker.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite})) {
        return gen::NoReply();
      }
      return gen::Reply(Answer{1, worker.Self()});
    };
    auto answer = fixture.node.CallAsync<Answer>(pool.pid(), Ask{0, then}, patient);
    REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
    fixture.node.Kill(fixture.workers->calls.WorkerOf(0)).value();
    const auto told = answer.get();
    REQUIRE_FALSE(told.has_value());
    CHECK(told.error() == gen::ErrProcessTerminated);
  }
  SUBCASE("of a worker that throws after it has waited in a call") {
    kit::Gate gate(fixture.node);
    auto then = [pid = gate.pid()](kit::Worker& worker, gen::PID, gen::Ref) -> gen::CallResult {
      worker.Call<bool>(pid, kit::EnterGate{}).value();
      throw std::runtime_error("after waiting");
    };
    auto answer = fixture.node.CallAsync<Answer>(pool.pid(), Ask{0, then}, patient);
    REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
    gate.Open();
    const auto told = answer.get();
    REQUIRE_FALSE(told.has_value());
    CHECK(told.error().ToString() ==
          "process terminated: panic: after waiting (handling ergon::kit::Ask)");
  }
  REQUIRE(pool.EventuallyAtRest());
  REQUIRE(pool.EventuallyComplete(2));
  CHECK(fixture.workers->calls.Times(0) == 1);
  // One that was killed may have answered, and the pool may not know of its end yet.
  CHECK(Eventually([&] { return pool.Stats()["worker_restarts"] == 1; }));
  REQUIRE(pool.EventuallyComplete(2));
}

TEST_CASE("Requests that wait behind a crash are answered by another worker") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  const auto workers = pool.Workers();
  kit::Gate gate(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Then(Hold(gate), Crash("boom"))}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  kit::ProberHandle caller(fixture.node);
  std::vector<std::future<gen::Result<Answer>>> answers;
  for (int i = 0; i < 5; ++i) {
    answers.push_back(
        fixture.node.CallAsync<Answer>(pool.pid(), Ask{i}, {.timeout = gen::kInfinite}));
  }
  gate.Open();
  for (int i = 0; i < 5; ++i) {
    const auto answer = answers[i].get().value();
    CHECK(answer.value == i);
    CHECK(answer.worker != workers[0]);
  }
  CHECK(fixture.workers->calls.Values() == Sequence(0, 5));
}

TEST_CASE("Requests that a worker has not answered yet: their callers are told when it ends") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  std::vector<std::future<gen::Result<Answer>>> answers;
  for (int i = 0; i < 3; ++i) {
    answers.push_back(fixture.node.CallAsync<Answer>(pool.pid(), Ask{i, kit::NeverAnswer()},
                                                     {.timeout = gen::kInfinite}));
  }
  REQUIRE(Eventually([&] { return fixture.workers->done.size() == 3; }));
  std::string expected;
  SUBCASE("with a crash") {
    fixture.node.Send(pool.pid(), Job{9, Crash("later")}).value();
    expected = "process terminated: panic: later (handling ergon::kit::Job)";
  }
  SUBCASE("in order") {
    fixture.node.Send(pool.pid(), Job{9, kit::End(gen::Reason::Normal())}).value();
    expected = "process terminated: normal";
  }
  SUBCASE("killed") {
    fixture.node.Kill(pool.Workers()[0]).value();
    expected = "process terminated: killed";
  }
  for (auto& answer : answers) {
    const auto told = answer.get();
    REQUIRE_FALSE(told.has_value());
    CHECK(told.error() == gen::ErrProcessTerminated);
    CHECK(told.error().ToString() == expected);
  }
}

// Makes scripted workers, or fails as told.
struct Factory {
  enum class Failure { kThrow, kNull };
  std::atomic<int> made{0};
  std::atomic<int> failed{0};
  std::atomic<int> failures{0};  // how many of the next ones fail
  std::atomic<Failure> failure{Failure::kThrow};

  static gen::ProcessFactory Of(std::shared_ptr<Factory> self, kit::ScriptPtr script) {
    return {[self, script]() -> std::unique_ptr<gen::ProcessBehavior> {
              int left = self->failures;
              while (left > 0 && !self->failures.compare_exchange_weak(left, left - 1)) {
              }
              if (left > 0) {
                self->failed.fetch_add(1);
                if (self->failure == Failure::kNull) return nullptr;
                throw std::runtime_error("no worker today");
              }
              self->made.fetch_add(1);
              return std::make_unique<kit::Worker>(script);
            },
            &typeid(kit::Worker)};
  }
};

TEST_CASE("The factory fails once, n times, always: back-off, the others go on, then refilled") {
  kit::NodeFixture fixture;
  auto factory = std::make_shared<Factory>();
  auto options = fixture.Options(2);
  options.worker_factory = Factory::Of(factory, fixture.workers);
  auto pool = fixture.StartPool(options);
  const auto before = pool.Workers();
  int failures = 0;
  SUBCASE("once") { failures = 1; }
  SUBCASE("once, without a worker") {
    failures = 1;
    factory->failure = Factory::Failure::kNull;
  }
  SUBCASE("ten times") { failures = 10; }
  SUBCASE("always, until it is repaired") { failures = 1'000'000'000; }
  factory->failures = failures;
  fixture.node.Kill(before[0]).value();
  REQUIRE(Eventually([&] { return factory->failed >= std::min(failures, 12); }));

  // The other one goes on.
  int sent = 0;
  while (sent < 20) fixture.node.Send(pool.pid(), Job{sent++}).value();
  REQUIRE(Eventually([&] { return fixture.workers->done.size() == 20; }));
  CHECK(pool.Stats()["pool_size"] == 2);
  if (failures > 10) {
    CHECK(fixture.workers->jobs.ValuesOf(before[1]) == Sequence(0, 20));
    CHECK(pool.Stats()["workers_ready"] == 1);
    factory->failures = 0;
  }
  REQUIRE(EventuallyReplaced(pool, 0, before[0], 2));
  CHECK(pool.Workers()[1] == before[1]);
  for (int i = 20; i < 24; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(24));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 24));
}

TEST_CASE("A replacement whose Init fails, the same") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  const auto before = pool.Workers();
  std::atomic<int> left{5};
  fixture.workers->SetInit([&](kit::Worker&) -> gen::Status {
    const int now = left.fetch_sub(1);
    if (now > 3) throw std::runtime_error("not yet");
    if (now > 0) return gen::Stop(gen::Reason::Error("nor now"));
    return gen::Continue();
  });
  fixture.node.Send(before[0], Job{-1, Crash("boom")}).value();
  REQUIRE(EventuallyReplaced(pool, 0, before[0], 2));
  CHECK(left == -1);
  CHECK(pool.Workers()[1] == before[1]);
  for (int i = 0; i < 4; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(4));
  CHECK(fixture.EventuallyGone(before[0]));
  CHECK(fixture.ChildrenOf(pool.pid()).size() == 2);
}

TEST_CASE("A replacement whose mailbox cannot be made, the same") {
  kit::NodeFixture fixture;
  const auto left = std::make_shared<std::atomic<int>>(0);
  auto options = fixture.Options(2);
  options.worker_mailbox = gen::Mailbox::Custom([left] {
    if (left->fetch_sub(1) > 0) throw std::runtime_error("no memory today");
    return gen::Mailbox::Priority<Job>([](const Job& job) { return job.value; }).MakeQueue();
  });
  auto pool = fixture.StartPool(options);
  const auto before = pool.Workers();
  *left = 3;
  fixture.node.Kill(before[0]).value();
  REQUIRE(EventuallyReplaced(pool, 0, before[0], 2));
  CHECK(*left == -1);
  CHECK(pool.Workers()[1] == before[1]);
  for (int i = 0; i < 4; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(4));
}

TEST_CASE("The only worker's replacement fails for a while: messages wait and are handled") {
  kit::NodeFixture fixture;
  auto factory = std::make_shared<Factory>();
  auto options = fixture.Options(1);
  options.worker_factory = Factory::Of(factory, fixture.workers);
  auto pool = fixture.StartPool(options);
  factory->failures = 1'000'000'000;
  fixture.node.Kill(pool.Workers()[0]).value();
  REQUIRE(Eventually([&] { return factory->failed >= 3; }));
  for (int i = 0; i < 50; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  auto answer = fixture.node.CallAsync<Answer>(pool.pid(), Ask{7}, {.timeout = kit::kDeadline});
  CHECK(pool.Size() == 1);
  factory->failures = 0;
  CHECK(answer.get().value().value == 7);
  REQUIRE(pool.EventuallyHandled(51));
  CHECK(fixture.workers->jobs.Values() == Sequence(0, 50));
}

TEST_CASE("More restarts than allowed: the pool ends with a failure, callers are told") {
  kit::NodeFixture fixture;
  auto options = fixture.Options(2);
  options.max_restarts = 3;
  options.restart_period = 1h;
  options.shutdown_timeout = 10ms;
  const auto factory = gen::Factory<ManagedPool>(fixture.pools);
  const gen::PID first =
      fixture.node.SpawnRegister("jobs", factory, {}, gen::MakeArgs(options)).value();
  kit::PoolHandle pool(fixture.node, first);

  // A supervisor: starts it again when it fails.
  kit::ProberHandle supervisor(fixture.node);
  supervisor.Watch(first);

  for (int i = 1; i <= 3; ++i) {
    const gen::PID victim = pool.Workers()[0];
    fixture.node.Kill(victim).value();
    REQUIRE(EventuallyReplaced(pool, 0, victim, 2));
  }
  CHECK(pool.Stats()["worker_restarts"] == 3);
  kit::Gate gate(fixture.node);
  const auto workers = pool.Workers();
  fixture.HoldEach(gate, workers);
  std::vector<std::future<gen::Result<Answer>>> answers;
  for (int i = 0; i < 6; ++i) {
    answers.push_back(fixture.node.CallAsync<Answer>("jobs", Ask{i}, {.timeout = gen::kInfinite}));
  }
  fixture.node.Kill(workers[1]).value();

  REQUIRE(supervisor.EventuallyDown(first));
  const auto reason = supervisor.inbox().ReasonOf(first);
  CHECK(reason.IsFailure());
  CAPTURE(reason.ToString());
  CHECK(reason.ToString().find("max_restarts") != std::string::npos);
  for (auto& answer : answers) {
    const auto told = answer.get();
    REQUIRE_FALSE(told.has_value());
    CHECK(told.error() == gen::ErrProcessTerminated);
  }
  for (gen::PID worker : workers) CHECK(fixture.EventuallyGone(worker));
  CHECK(fixture.node.Send("jobs", Job{}).error() == gen::ErrProcessUnknown);

  gen::PID again;
  supervisor
      .Run([&](Prober& self) {
        again = self.SpawnRegister("jobs", factory, {}, gen::MakeArgs(options)).value();
      })
      .value();
  kit::PoolHandle restarted(fixture.node, again);
  CHECK(restarted.Size() == 2);
  const auto stats = restarted.Stats();
  CHECK(stats["worker_restarts"] == 0);
  CHECK(stats["messages_queued"] == 0);
  CHECK(fixture.node.Call<Answer>("jobs", Ask{1}).value().value == 1);
}

TEST_CASE("Restarts that lie further apart than the period do not add up") {
  kit::NodeFixture fixture;
  auto options = fixture.Options(1);
  options.max_restarts = 1;
  options.restart_period = 1ns;
  auto pool = fixture.StartPool(options);
  for (int i = 0; i < 20; ++i) {
    const gen::PID victim = pool.Workers()[0];
    fixture.node.Kill(victim).value();
    REQUIRE(EventuallyReplaced(pool, 0, victim, 1));
  }
  CHECK(pool.Stats()["worker_restarts"] == 20);
}

TEST_CASE("A worker's Init blocks: the others work, the pool answers priority calls and inspect") {
  kit::NodeFixture fixture({.workers = 3});
  kit::ThreadGate thread_gate;
  kit::Gate gate(fixture.node);
  auto pool = fixture.StartPool(3);
  const auto before = pool.Workers();
  SUBCASE("its thread") {
    fixture.workers->SetInit([enter = thread_gate.Holder()](kit::Worker&) {
      enter();
      return gen::Continue();
    });
  }
  SUBCASE("only itself") {
    fixture.workers->SetInit([pid = gate.pid()](kit::Worker& worker) {
      worker.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite}).value();
      return gen::Continue();
    });
  }
  fixture.node.Kill(before[0]).value();
  REQUIRE(Eventually([&] { return thread_gate.Entered() + gate.Entered() == 1; }));

  CHECK(pool.Size() == 3);
  auto stats = pool.Stats();
  CHECK(stats["pool_size"] == 3);
  CHECK(stats["workers_ready"] == 2);
  CHECK(stats["workers_starting"] == 1);
  for (int i = 0; i < 100; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{1}, {.timeout = kit::kDeadline}).value().value ==
        1);
  REQUIRE(Eventually([&] { return fixture.workers->done.size() == 101; }));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 100));

  thread_gate.Open();
  gate.Open();
  REQUIRE(EventuallyReplaced(pool, 0, before[0], 3));
  CHECK(pool.Stats()["workers_starting"] == 0);
  const gen::PID replacement = pool.Workers()[0];
  for (int i = 100; i < 103; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(104));
  CHECK(fixture.workers->jobs.ValuesOf(replacement).size() == 1);
}

TEST_CASE("A worker's death ends neither its siblings nor the pool") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3);
  const auto before = pool.Workers();
  kit::ProberHandle watcher(fixture.node);
  watcher.Watch(pool.pid());
  watcher.Watch(before[1]);
  watcher.Watch(before[2]);
  gen::PID victim = before[0];
  for (const auto& reason : {gen::Reason::Error("bad"), gen::Reason::Kill(),
                             gen::Reason::Shutdown(), gen::Reason::Normal()}) {
    fixture.node.SendExit(victim, reason).value();
    REQUIRE(EventuallyReplaced(pool, 0, victim, 3));
    victim = pool.Workers()[0];
  }
  fixture.node.Kill(victim).value();
  REQUIRE(EventuallyReplaced(pool, 0, victim, 3));
  CHECK(watcher.inbox().Downs().empty());
  CHECK(pool.Workers()[1] == before[1]);
  CHECK(pool.Workers()[2] == before[2]);
}

TEST_CASE("The pool's death ends all workers, whatever they do") {
  kit::NodeFixture fixture({.workers = 4});
  auto options = fixture.Options(4);
  options.shutdown_timeout = 1ms;
  auto pool = fixture.StartPool(options);
  const auto before = pool.Workers();
  kit::ProberHandle watcher(fixture.node);
  kit::Gate gate(fixture.node);
  kit::ThreadGate thread_gate;

  // One traps exits, one waits in a call, one computes, one is being replaced and waits in its
  // Init.
  fixture.node
      .Send(before[0], Job{0,
                           [](kit::Worker& worker) {
                             worker.SetTrapExit(true);
                             return gen::Continue();
                           }})
      .value();
  fixture.node.Send(before[1], Job{1, Hold(gate)}).value();
  fixture.node.Send(before[2], Job{2, Block(thread_gate)}).value();
  fixture.workers->SetInit([pid = gate.pid()](kit::Worker& worker) {
    (void)worker.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite});
    return gen::Continue();
  });
  fixture.node.Kill(before[3]).value();
  REQUIRE(Eventually([&] { return gate.Entered() + thread_gate.Entered() == 3; }));
  REQUIRE(Eventually([&] { return fixture.workers->done.Has(0); }));
  const auto children = fixture.ChildrenOf(pool.pid());
  CHECK(children.size() == 4);
  for (gen::PID child : children) watcher.Watch(child);
  watcher.Watch(pool.pid());

  SUBCASE("killed") { fixture.node.Kill(pool.pid()).value(); }
  SUBCASE("by an exit signal") {
    fixture.node.SendExit(pool.pid(), gen::Reason::Error("leave")).value();
  }
  SUBCASE("normally") { pool.End(gen::Reason::Normal()).value(); }
  SUBCASE("by an exception") {
    (void)fixture.node.Call<int>(
        pool.pid(),
        kit::Manage{[](ManagedPool&) -> gen::CallResult { throw std::runtime_error("boom"); }},
        {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kHigh});
  }
  thread_gate.Open();
  REQUIRE(watcher.EventuallyDown(pool.pid()));
  for (gen::PID child : children) {
    CHECK(watcher.EventuallyDown(child));
    CHECK(fixture.EventuallyGone(child));
  }
  CHECK(fixture.ChildrenOf(pool.pid()).empty());
  CHECK(fixture.workers->ReasonsOf(before[0]).size() == 1);
}

TEST_CASE("A pool that is killed while it grows: the new workers end with it") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  kit::Gate gate(fixture.node);
  fixture.workers->SetInit([pid = gate.pid()](kit::Worker& worker) {
    const bool may_go_on =
        worker.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite}).has_value();
    return may_go_on ? gen::Continue() : gen::Stop(gen::Reason::Error("ended in its Init"));
  });
  auto grown = fixture.node.CallAsync<std::int64_t>(
      pool.pid(), kit::Grow{2},
      {.timeout = gen::kInfinite, .priority = gen::MessagePriority::kHigh});
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  const auto children = fixture.ChildrenOf(pool.pid());
  CHECK(children.size() == 3);
  fixture.node.Kill(pool.pid()).value();
  CHECK(fixture.EventuallyGone(pool.pid()));
  for (gen::PID child : children) CHECK(fixture.EventuallyGone(child));
  CHECK(Eventually([&] { return fixture.ChildrenOf(pool.pid()).empty(); }));
  const auto told = grown.get();
  REQUIRE_FALSE(told.has_value());
  CHECK(told.error() == gen::ErrProcessTerminated);
}

}  // namespace
}  // namespace ergon
