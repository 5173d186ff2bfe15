// Which worker gets a message: what each strategy promises beyond what all do.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <kit/node_fixture.h>
#include <kit/strategies.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;
using act::PoolStrategy;
using kit::Answer;
using kit::Ask;
using kit::ByValue;
using kit::Crash;
using kit::Eventually;
using kit::Hold;
using kit::Job;
using kit::Sequence;

struct StrategyFixture : kit::NodeFixture {
  [[nodiscard]] kit::PoolHandle Start(const PoolStrategy& strategy, int size, int bound = 0) {
    act::PoolOptions options = Options(size, bound);
    options.strategy = strategy;
    return StartPool(options);
  }
  void Send(const kit::PoolHandle& pool, int value) { node.Send(pool.pid(), Job{value}).value(); }
  // Sends a job that waits at the gate, and waits until it does. Returns who has it.
  gen::PID SendHeld(const kit::PoolHandle& pool, kit::Gate& gate, int value) {
    const int before = gate.Entered();
    node.Send(pool.pid(), Job{value, Hold(gate)}).value();
    REQUIRE(Eventually([&] { return gate.Entered() > before; }));
    return workers->jobs.WorkerOf(value);
  }
};

TEST_CASE("Least loaded: the message being handled counts; among equals it is the next's turn") {
  StrategyFixture fixture;
  auto pool = fixture.Start(PoolStrategy::LeastLoaded(), 3);
  kit::Gate gate(fixture.node);
  const std::vector<gen::PID> all = pool.Workers();
  fixture.HoldEach(gate, {all[0], all[1]});
  // Nobody but the third is free.
  CHECK(fixture.SendHeld(pool, gate, 1) == all[2]);
  // All have one: one more for each before anybody gets a second.
  for (int value = 10; value < 13; ++value) fixture.Send(pool, value);
  for (const gen::PID worker : all) CHECK(fixture.node.ProcessInfo(worker)->messages_queued == 1);
  gate.Open();
  REQUIRE(pool.EventuallyHandled(4));
  // Idle ones take turns.
  std::set<gen::PID> turns;
  for (int value = 20; value < 23; ++value) {
    fixture.Send(pool, value);
    REQUIRE(pool.EventuallyAtRest());
    turns.insert(fixture.workers->jobs.WorkerOf(value));
  }
  CHECK(turns.size() == 3);
}

TEST_CASE("Least loaded: a worker that leaves is not picked, however little it has to do") {
  StrategyFixture fixture;
  auto pool = fixture.Start(PoolStrategy::LeastLoaded(), 2);
  kit::Gate gate(fixture.node);
  const gen::PID leaving = pool.Workers()[0];
  const gen::PID staying = pool.Workers()[1];
  fixture.HoldEach(gate, {leaving, staying});
  pool.Shrink(1).value();
  REQUIRE(pool.Workers() == std::vector<gen::PID>{staying});
  for (int value = 0; value < 10; ++value) fixture.Send(pool, value);
  gate.Open();
  REQUIRE(pool.EventuallyHandled(10));
  CHECK(fixture.workers->jobs.ValuesOf(staying).size() == 11);
}

TEST_CASE("Random: the same seed chooses the same workers, and all of them") {
  std::vector<std::vector<std::size_t>> choices;
  for (const std::uint64_t seed : {1u, 1u, 2u}) {
    StrategyFixture fixture;
    auto pool = fixture.Start(PoolStrategy::Random(seed), 4);
    for (int value = 0; value < 100; ++value) fixture.Send(pool, value);
    REQUIRE(pool.EventuallyHandled(100));
    const std::vector<gen::PID> all = pool.Workers();
    std::vector<std::size_t>& chosen = choices.emplace_back();
    for (int value = 0; value < 100; ++value) {
      const auto found = std::find(all.begin(), all.end(), fixture.workers->jobs.WorkerOf(value));
      chosen.push_back(static_cast<std::size_t>(found - all.begin()));
    }
    CHECK(std::set<std::size_t>(chosen.begin(), chosen.end()).size() == 4);
  }
  CHECK(choices[0] == choices[1]);
  CHECK(choices[0] != choices[2]);
}

TEST_CASE("By key: the same key is handled by the same worker, in order") {
  StrategyFixture fixture;
  const auto strategy = PoolStrategy::ByKey<Job>([](const Job& job) { return job.value % 10; });
  auto pool = fixture.Start(strategy, 4);
  for (int value = 0; value < 1000; ++value) fixture.Send(pool, value);
  REQUIRE(pool.EventuallyHandled(1000));
  std::map<int, std::vector<int>> values;
  std::map<int, std::set<gen::PID>> workers;
  for (const kit::Record& record : fixture.workers->jobs.All()) {
    values[record.value % 10].push_back(record.value);
    workers[record.value % 10].insert(record.worker);
  }
  for (const auto& [key, list] : values) {
    CAPTURE(key);
    CHECK(std::is_sorted(list.begin(), list.end()));
    CHECK(list.size() == 100);
    CHECK(workers[key].size() == 1);
  }
}

TEST_CASE("By key: 10^4 keys are spread evenly, within 15 %") {
  StrategyFixture fixture;
  auto pool = fixture.Start(ByValue(), 8);
  constexpr int kKeys = 10'000;
  for (int value = 0; value < kKeys; ++value) fixture.Send(pool, value);
  REQUIRE(pool.EventuallyHandled(kKeys));
  for (const gen::PID worker : pool.Workers()) {
    const auto share = static_cast<double>(fixture.workers->jobs.ValuesOf(worker).size());
    CHECK(share > 0.85 * kKeys / 8);
    CHECK(share < 1.15 * kKeys / 8);
  }
}

TEST_CASE("By key: a key in flight stays where it is when the pool grows") {
  StrategyFixture fixture;
  auto pool = fixture.Start(ByValue(), 1);
  kit::Gate gate(fixture.node);
  const gen::PID home = fixture.SendHeld(pool, gate, 5);
  pool.Grow(20).value();
  for (int i = 0; i < 3; ++i) fixture.Send(pool, 5);
  // Others are not held up, and most of them find a new worker.
  std::vector<std::future<gen::Result<Answer>>> others;
  for (int value = 100; value < 200; ++value) {
    others.push_back(
        fixture.node.CallAsync<Answer>(pool.pid(), Ask{value}, {.timeout = kit::kDeadline}));
  }
  CHECK(Eventually([&] { return fixture.workers->calls.size() > 80; }));
  CHECK(fixture.workers->jobs.Times(5) == 1);
  gate.Open();
  REQUIRE(Eventually([&] { return fixture.workers->jobs.Times(5) == 4; }));
  CHECK(fixture.workers->jobs.WorkersOf(5) == std::vector<gen::PID>(4, home));
}

TEST_CASE("By key: a key in flight moves when its worker that was taken out is done with it") {
  StrategyFixture fixture;
  auto pool = fixture.Start(ByValue(), 4);
  kit::Gate gate(fixture.node);
  const gen::PID home = fixture.SendHeld(pool, gate, 5);
  fixture.Send(pool, 5);
  // Those whose turn is next leave; sooner or later it is this one.
  while (fixture.IsAlive(home)) {
    const std::vector<gen::PID> left = pool.Workers();
    if (std::find(left.begin(), left.end(), home) == left.end()) break;
    pool.Shrink(1).value();
    pool.Grow(1).value();
  }
  fixture.Send(pool, 5);
  for (int value = 100; value < 120; ++value) {
    CHECK(
        fixture.node.Call<Answer>(pool.pid(), Ask{value}, {.timeout = kit::kDeadline}).has_value());
  }
  CHECK(fixture.workers->jobs.Times(5) == 1);
  gate.Open();
  REQUIRE(Eventually([&] { return fixture.workers->jobs.Times(5) == 3; }));
  const std::vector<gen::PID> by = fixture.workers->jobs.WorkersOf(5);
  CHECK(by[0] == home);
  CHECK(by[1] != home);
  CHECK(by[1] == by[2]);
  REQUIRE(pool.EventuallyAtRest());
}

TEST_CASE("By key: after a crash the replacement goes on with the key, in order") {
  StrategyFixture fixture;
  const auto strategy = PoolStrategy::ByKey<Job>([](const Job&) { return std::string("one"); });
  auto pool = fixture.Start(strategy, 4);
  kit::Gate gate(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, kit::Then(Hold(gate), Crash("first"))}).value();
  for (int value = 1; value < 10; ++value) fixture.Send(pool, value);
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  gate.Open();
  for (int value = 10; value < 20; ++value) fixture.Send(pool, value);
  REQUIRE(pool.EventuallyHandled(19));
  CHECK(fixture.workers->jobs.Values() == Sequence(0, 20));
  const gen::PID dead = fixture.workers->jobs.WorkerOf(0);
  const gen::PID successor = fixture.workers->jobs.WorkerOf(1);
  CHECK(successor != dead);
  CHECK(fixture.workers->jobs.ValuesOf(successor) == Sequence(1, 19));
}

// Keeps each job of value 0 for later, until one of value -1 comes.
class Lingerer : public act::Actor {
 public:
  explicit Lingerer(kit::Recorder& handled) : handled_(handled) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const int value = message.As<Job>()->value;
    if (value == 0 && !may_handle_it_) {
      CHECK(Stash(message));
      return gen::Continue();
    }
    if (value == -1) {
      may_handle_it_ = true;
      UnstashAll();
    }
    handled_.Add(Self(), from, value);
    return gen::Continue();
  }

  kit::Recorder& handled_;
  bool may_handle_it_ = false;
};

TEST_CASE(
    "By key: a key is free when its messages are handled, whatever else a worker has stashed") {
  kit::Recorder handled;
  StrategyFixture fixture;
  act::PoolOptions options = fixture.Options(1);
  options.worker_factory = gen::Factory<Lingerer>(std::ref(handled));
  options.strategy = PoolStrategy::ByKey<Job>([](const Job& job) { return job.value; });
  auto pool = fixture.StartPool(options);
  const gen::PID first = pool.Workers().at(0);
  fixture.Send(pool, 0);
  for (int value = 1; value <= 100; ++value) fixture.Send(pool, value);
  REQUIRE(Eventually([&] { return handled.size() == 100; }));
  REQUIRE(pool.Grow(1));
  // The key of what is stashed stays with its worker; the others are shared.
  fixture.Send(pool, 0);
  for (int value = 1; value <= 100; ++value) fixture.Send(pool, value);
  REQUIRE(Eventually([&] { return handled.size() == 200; }));
  const auto of_first = handled.ValuesOf(first).size();
  CHECK(of_first < 180);  // about half of the second hundred go to the other worker
  CHECK(of_first > 100);
  for (const gen::PID worker : pool.Workers()) fixture.node.Send(worker, Job{-1}).value();
  REQUIRE(Eventually([&] { return handled.Times(0) == 2; }));
  const std::vector<gen::PID> both = handled.WorkersOf(0);
  CHECK(both[0] == first);
  CHECK(both[1] == first);
}

TEST_CASE("By key: messages of other types, and without a key, go to whoever is free") {
  StrategyFixture fixture;
  const auto strategy = PoolStrategy::ByKey<Job>([](const Job& job) { return job.value; });
  auto pool = fixture.Start(strategy, 2);
  kit::Gate gate(fixture.node);
  const gen::PID held = fixture.SendHeld(pool, gate, 1);
  for (int i = 0; i < 5; ++i) {
    auto answer = fixture.node.Call<Answer>(pool.pid(), Ask{i}, {.timeout = kit::kDeadline});
    CHECK(answer.value().worker != held);
  }
  gate.Open();
}

TEST_CASE("Shared queue: no worker has more than the message it handles; the pool tells the rest") {
  StrategyFixture fixture;
  auto pool = fixture.Start(PoolStrategy::SharedQueue(), 3);
  kit::Gate gate(fixture.node);
  for (int value = 0; value < 3; ++value) fixture.SendHeld(pool, gate, value);
  for (int value = 3; value < 30; ++value) fixture.Send(pool, value);
  REQUIRE(Eventually([&] { return pool.Stats()["messages_queued"] == 27; }));
  for (const gen::PID worker : pool.Workers()) {
    CHECK(fixture.node.ProcessInfo(worker)->messages_queued == 0);
  }
  // The first that is free takes the oldest.
  gate.Admit(1);
  REQUIRE(Eventually([&] { return fixture.workers->jobs.size() == 30; }));
  CHECK(fixture.workers->jobs.Values() == Sequence(0, 30));
  gate.Open();
  REQUIRE(pool.EventuallyHandled(30));
  CHECK(pool.Stats().Text("strategy") == "shared queue");
}

TEST_CASE("By key: what a worker has left fails if its key cannot be had, and nothing else does") {
  StrategyFixture fixture;
  auto fails = std::make_shared<std::atomic<bool>>(false);
  auto pool = fixture.Start(PoolStrategy::ByKey<Job, Ask>([fails](const auto& message) {
                              if (*fails && message.value > 0) throw std::runtime_error("no key");
                              return message.value;
                            }),
                            1);
  kit::Gate gate(fixture.node);
  const gen::PID worker = pool.Workers()[0];
  fixture.node.Send(worker, Job{-1, kit::Then(Hold(gate), Crash("on purpose"))}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  // Sent directly: the pool sees them for the first time when the worker has ended.
  for (int value = 0; value < 3; ++value) fixture.node.Send(worker, Job{value}).value();
  auto call = fixture.node.CallAsync<Answer>(worker, Ask{3}, {.timeout = gen::kInfinite});
  REQUIRE(Eventually([&] { return fixture.node.ProcessInfo(worker)->messages_queued == 4; }));
  *fails = true;
  gate.Open();
  CHECK(call.get().error().ToString() == "the pool's key function threw: no key");
  REQUIRE(Eventually([&] { return fixture.workers->jobs.size() == 2; }));
  CHECK(fixture.workers->jobs.Values() == std::vector<int>{-1, 0});
  CHECK(pool.Stats()["messages_lost_failed"] == 3);
  CHECK(fixture.node.Info().dropped_failed == 3);
  CHECK(fixture.IsAlive(pool.pid()));
}

TEST_CASE("Strategies that do not go with a mailbox by priority say so") {
  StrategyFixture fixture;
  for (const PoolStrategy& strategy : {PoolStrategy::SharedQueue(), ByValue()}) {
    act::PoolOptions options = fixture.Options(2);
    options.strategy = strategy;
    options.worker_mailbox = gen::Mailbox::Priority<Job>([](const Job& job) { return job.value; });
    const auto pool = fixture.TryPool(options);
    REQUIRE_FALSE(pool);
    CHECK(pool.error().ToString().find("strategy: ") != std::string::npos);
  }
}

TEST_CASE("Strategies: a worker calls its own pool from what did not come from there") {
  kit::ForEachStrategy([](const PoolStrategy& strategy) {
    if (strategy.kind() == PoolStrategy::Kind::kByKey) return;  // the key may be its own
    kit::NodeFixture fixture;
    auto pool = fixture.StartPool(kit::With(fixture.Options(3), strategy));
    const auto calls = [pid = pool.pid()](kit::Worker& self, gen::PID,
                                          gen::Ref) -> gen::CallResult {
      auto answer = self.Call<Answer>(pid, Ask{2}, {.timeout = kit::kDeadline});
      if (!answer) return gen::ReplyError(answer.error());
      return gen::Reply(*answer);
    };
    for (const gen::PID worker : pool.Workers()) {
      const auto answer =
          fixture.node.Call<Answer>(worker, Ask{1, calls}, {.timeout = kit::kDeadline});
      REQUIRE(answer.has_value());
      CHECK(answer->worker != worker);
    }
    REQUIRE(pool.EventuallyAtRest());
  });
}

TEST_CASE(
    "Strategies: a worker that is busy with its own does not get what another one could begin "
    "with") {
  for (const PoolStrategy& strategy : {PoolStrategy::LeastLoaded(), PoolStrategy::SharedQueue()}) {
    kit::NodeFixture fixture;
    auto pool = fixture.StartPool(kit::With(fixture.Options(3), strategy));
    kit::Gate gate(fixture.node);
    fixture.HoldEach(gate, {pool.Workers()[0]});
    for (int value = 0; value < 5; ++value) {
      // A worker may still be busy for a moment when it has answered.
      REQUIRE(Eventually([&] { return pool.Stats()["workers_busy"] == 1; }));
      CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{value}, {.timeout = kit::kDeadline})
                .has_value());
    }
    gate.Open();
    REQUIRE(pool.EventuallyAtRest());
  }
}

TEST_CASE("Shared queue: a worker's own request keeps no message from that worker") {
  StrategyFixture fixture;
  auto pool = fixture.Start(PoolStrategy::SharedQueue(), 2);
  kit::Gate gate(fixture.node);
  const gen::PID busy = fixture.SendHeld(pool, gate, 1);
  const auto ask = [pid = pool.pid()](kit::Worker& self) {
    CHECK(self.Request(pid, Ask{3}));
    return gen::Continue();
  };
  fixture.node.Send(pool.pid(), Job{2, ask}).value();
  REQUIRE(Eventually([&] { return fixture.workers->done.Has(2); }));
  for (int value = 4; value < 8; ++value) fixture.Send(pool, value);
  CHECK(Eventually([&] { return fixture.workers->done.Has(7); }));
  const gen::PID free = fixture.workers->jobs.WorkerOf(2);
  CHECK(fixture.workers->jobs.ValuesOf(free) == std::vector<int>{2, 4, 5, 6, 7});
  CHECK_FALSE(fixture.workers->calls.Has(3));
  gate.Open();
  CHECK(Eventually([&] { return fixture.workers->done.Has(3); }));
  CHECK(fixture.workers->calls.WorkerOf(3) == busy);
}

}  // namespace
}  // namespace ergon
