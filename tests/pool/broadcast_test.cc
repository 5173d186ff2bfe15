// The strategy that gives each message to all workers.
#include <algorithm>
#include <chrono>
#include <future>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/act/broadcast_answers.h>

#include <kit/manual_time.h>
#include <kit/node_fixture.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;
using act::BroadcastAnswers;
using act::PoolStrategy;
using kit::Answer;
using kit::Ask;
using kit::Crash;
using kit::Eventually;
using kit::Hold;
using kit::Job;
using kit::Sequence;

struct BroadcastFixture : kit::NodeFixture {
  using NodeFixture::NodeFixture;

  [[nodiscard]] kit::PoolHandle Start(int size, int bound = 0) {
    act::PoolOptions options = Options(size, bound);
    options.strategy = PoolStrategy::Broadcast<Job, Ask>();
    return StartPool(options);
  }
  gen::Result<BroadcastAnswers> Call(const kit::PoolHandle& pool, Ask ask,
                                     std::chrono::nanoseconds timeout = kit::kDeadline) {
    return node.Call<BroadcastAnswers>(pool.pid(), std::move(ask), {.timeout = timeout});
  }
};

TEST_CASE("Broadcast: each message reaches every worker once, in order, busy ones too") {
  BroadcastFixture fixture;
  auto pool = fixture.Start(3);
  kit::Gate gate(fixture.node);
  const std::vector<gen::PID> all = pool.Workers();
  fixture.HoldEach(gate, {all[0]});
  for (int value = 0; value < 100; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
  REQUIRE(Eventually([&] { return fixture.workers->jobs.size() == 201; }));
  CHECK(fixture.workers->jobs.ValuesOf(all[0]) == std::vector<int>{-1});
  gate.Open();
  REQUIRE(pool.EventuallyHandled(300));
  CHECK(fixture.workers->jobs.ValuesOf(all[1]) == Sequence(0, 100));
  CHECK(fixture.workers->jobs.ValuesOf(all[2]) == Sequence(0, 100));
  std::vector<int> first = {-1};
  for (const int value : Sequence(0, 100)) first.push_back(value);
  CHECK(fixture.workers->jobs.ValuesOf(all[0]) == first);
  CHECK(pool.Stats().Text("strategy") == "broadcast");
}

TEST_CASE("Broadcast: a call gets the answers of all workers, in the order of their places") {
  BroadcastFixture fixture;
  auto pool = fixture.Start(4);
  auto answers = fixture.Call(pool, Ask{7}).value();
  REQUIRE(answers.size() == 4);
  std::vector<gen::PID> workers;
  for (auto& [worker, result] : answers.Take<Answer>()) {
    workers.push_back(worker);
    CHECK(result.value().value == 7);
    CHECK(result.value().worker == worker);
  }
  CHECK(workers == pool.Workers());
  CHECK(answers.size() == 0);
  REQUIRE(pool.EventuallyHandled(4));
}

TEST_CASE("Broadcast: a call collects the errors as well: ended, full, in vain, another type") {
  BroadcastFixture fixture;
  auto pool = fixture.Start(5, 1);
  const std::vector<gen::PID> all = pool.Workers();
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, {all[0]});
  fixture.node.Send(all[0], Job{-2}).value();  // now it is full
  const auto then = [all](kit::Worker& self, gen::PID, gen::Ref) -> gen::CallResult {
    if (self.Self() == all[1]) throw std::runtime_error("broken");
    if (self.Self() == all[2]) return gen::ReplyError(gen::Error("no"));
    if (self.Self() == all[3]) return gen::Reply(std::string("text"));
    return gen::Reply(Answer{1, self.Self()});
  };
  auto outcomes = fixture.Call(pool, Ask{0, then}).value().Take<Answer>();
  REQUIRE(outcomes.size() == 5);
  CHECK(outcomes[0].result.error() == gen::ErrProcessMailboxFull);
  CHECK(outcomes[1].result.error() == gen::ErrProcessTerminated);
  CHECK(outcomes[2].result.error().code() == gen::ErrorCode::kApplication);
  CHECK(outcomes[3].result.error() == gen::ErrUnexpectedType);
  CHECK(outcomes[4].result.has_value());
  gate.Open();
  REQUIRE(pool.EventuallyAtRest());
}

TEST_CASE("Broadcast: the caller gets what there is before its time is up") {
  const kit::ManualTime time;
  BroadcastFixture fixture(time.Into());
  auto pool = fixture.Start(2);
  const gen::PID silent = pool.Workers()[0];
  const auto then = [silent](kit::Worker& self, gen::PID, gen::Ref) -> gen::CallResult {
    if (self.Self() == silent) return gen::NoReply();
    return gen::Reply(Answer{1, self.Self()});
  };
  auto call = fixture.node.CallAsync<BroadcastAnswers>(pool.pid(), Ask{0, then}, {.timeout = 1s});
  REQUIRE(Eventually([&] { return pool.Stats()["messages_handled"] == 2; }));
  time.Pass(950ms);
  auto outcomes = call.get().value().Take<Answer>();
  REQUIRE(outcomes.size() == 2);
  CHECK(outcomes[0].result.error() == gen::ErrTimeout);
  CHECK(outcomes[1].result.has_value());
}

TEST_CASE("Broadcast: what waited at a worker that crashed is for its successor only") {
  BroadcastFixture fixture;
  auto pool = fixture.Start(3);
  kit::Gate gate(fixture.node);
  const gen::PID victim = pool.Workers()[1];
  fixture.node.Send(victim, Job{-1, kit::Then(Hold(gate), Crash("on purpose"))}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  for (int value = 0; value < 50; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
  auto call =
      fixture.node.CallAsync<BroadcastAnswers>(pool.pid(), Ask{9}, {.timeout = kit::kDeadline});
  REQUIRE(Eventually([&] {
    return fixture.workers->jobs.size() == 101 && pool.Stats()["messages_forwarded"] == 153;
  }));
  gate.Open();
  CHECK(call.get().value().size() == 3);
  REQUIRE(pool.EventuallyHandled(153));
  for (const gen::PID worker : pool.Workers()) {
    CHECK(fixture.workers->jobs.ValuesOf(worker) == Sequence(0, 50));
  }
  CHECK(fixture.workers->jobs.ValuesOf(victim) == std::vector<int>{-1});
}

TEST_CASE("Broadcast: one that is full misses it, counted; if all are, the sender gets an error") {
  BroadcastFixture fixture;
  auto pool = fixture.Start(2, 2);
  kit::Gate gate(fixture.node);
  const std::vector<gen::PID> all = pool.Workers();
  fixture.HoldEach(gate, {all[0]});
  for (int value = 0; value < 3; ++value) {
    fixture.node.Send(pool.pid(), Job{value}).value();
    REQUIRE(Eventually([&] { return fixture.workers->done.Has(value); }));
  }
  REQUIRE(Eventually([&] { return pool.Stats()["messages_lost_missed"] == 1; }));
  fixture.HoldEach(gate, {all[1]});
  // Two at the second worker, one held and two in the mailbox of the pool.
  int accepted = 0;
  REQUIRE(Eventually([&] {
    if (fixture.node.Send(pool.pid(), Job{100})) ++accepted;
    return accepted == 5;
  }));
  for (int i = 0; i < 20; ++i) {
    CHECK_FALSE(fixture.node.Send(pool.pid(), Job{100}));
    (void)pool.Stats();
  }
  CHECK(fixture.Call(pool, Ask{0}).error() == gen::ErrProcessMailboxFull);
  gate.Open();
  REQUIRE(pool.EventuallyAtRest());
  // Each of the five came to both workers, or to one of them while the other was full.
  std::size_t handled = 0;
  for (const gen::PID worker : all) {
    const auto values = fixture.workers->jobs.ValuesOf(worker);
    handled += static_cast<std::size_t>(std::count(values.begin(), values.end(), 100));
  }
  const auto missed = static_cast<std::size_t>(pool.Stats()["messages_lost_missed"]) - 1;
  CHECK(handled >= 5);
  CHECK(handled + missed == 2 * 5);
}

TEST_CASE("Broadcast: grown and shrunk meanwhile: who is there gets it, and handles it") {
  BroadcastFixture fixture;
  auto pool = fixture.Start(3);
  for (int round = 0; round < 10; ++round) {
    pool.Grow(2).value();
    for (int i = 0; i < 10; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
    (void)pool.Shrink(2).value();
  }
  REQUIRE(pool.EventuallyAtRest());
  const auto stats = pool.Stats();
  CHECK(stats["messages_lost"] == 0);
  // A shrink overtakes the messages of normal priority: some meet the smaller pool.
  CHECK(stats["messages_handled"] >= 300);
  CHECK(stats["messages_handled"] <= 500);
}

TEST_CASE("Broadcast: a worker that calls its own pool hears of the others only") {
  BroadcastFixture fixture;
  const auto inner = [](gen::PID pid) {
    return [pid](kit::Worker& self, gen::PID, gen::Ref) -> gen::CallResult {
      auto answers = self.Call<BroadcastAnswers>(pid, Ask{2}, {.timeout = kit::kDeadline});
      if (!answers) return gen::ReplyError(answers.error());
      int good = 0;
      for (auto& outcome : answers->Take<Answer>()) good += outcome.result.has_value() ? 1 : 0;
      return gen::Reply(Answer{good, self.Self()});
    };
  };
  auto pool = fixture.Start(3);
  const gen::PID worker = pool.Workers()[0];
  auto answer =
      fixture.node.Call<Answer>(worker, Ask{1, inner(pool.pid())}, {.timeout = kit::kDeadline});
  CHECK(answer.value().value == 2);
  auto one = fixture.Start(1);
  auto refused = fixture.node.Call<Answer>(one.Workers()[0], Ask{1, inner(one.pid())},
                                           {.timeout = kit::kDeadline});
  CHECK(refused.error() == gen::ErrDeadlock);
}

TEST_CASE("Broadcast: a pool that ends answers what was asked") {
  for (const bool kill : {false, true}) {
    BroadcastFixture fixture;
    auto pool = fixture.Start(2);
    kit::Gate gate(fixture.node);
    auto call = fixture.node.CallAsync<BroadcastAnswers>(
        pool.pid(), Ask{1, kit::HoldAndAnswer(gate, 5)}, {.timeout = kit::kDeadline});
    REQUIRE(Eventually([&] { return gate.Entered() == 2; }));
    if (kill) {
      fixture.node.Kill(pool.pid()).value();
    } else {
      pool.End(gen::Reason::Normal()).value();
    }
    gate.Open();
    auto answers = call.get();
    REQUIRE(fixture.EventuallyGone(pool.pid()));
    REQUIRE(answers.has_value());
    for (auto& outcome : answers->Take<Answer>()) CHECK(outcome.result.has_value() == !kill);
  }
}

TEST_CASE("Broadcast: a pool that ends hands out what came while all were full") {
  BroadcastFixture fixture;
  act::PoolOptions options = fixture.Options(2, 1);
  options.strategy = PoolStrategy::Broadcast<Job>();
  options.shutdown_timeout = gen::kInfinite;
  auto pool = fixture.StartPool(options);
  kit::Gate first_gate(fixture.node);
  kit::Gate second_gate(fixture.node);
  kit::Gate own_gate(fixture.node);
  const auto workers = pool.Workers();
  fixture.HoldEach(first_gate, {workers[0]});
  fixture.HoldEach(second_gate, {workers[1]});
  fixture.node.Send(pool.pid(), Job{0}).value();
  REQUIRE(Eventually([&] { return pool.Stats()["messages_forwarded"] == 2; }));
  // It arrives while the pool is busy ending itself.
  auto end = fixture.node.CallAsync<int>(
      pool.pid(), kit::Manage{[door = own_gate.pid()](kit::ManagedPool& self) -> gen::CallResult {
        (void)self.Call<bool>(door, kit::EnterGate{}, {.timeout = gen::kInfinite});
        return gen::ReplyAndStop(1, gen::Reason::Normal());
      }},
      {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kHigh});
  REQUIRE(Eventually([&] { return own_gate.Entered() == 1; }));
  fixture.node.Send(pool.pid(), Job{1}).value();
  own_gate.Open();
  CHECK(end.get().value() == 1);
  REQUIRE(Eventually([&] { return pool.Stats()["messages_queued"] == 3; }));
  // One after the other: which of them has room when the pool looks again is no matter of chance.
  first_gate.Open();
  REQUIRE(Eventually([&] { return fixture.workers->jobs.ValuesOf(workers[0]).size() == 3; }));
  second_gate.Open();
  REQUIRE(fixture.EventuallyGone(pool.pid()));
  CHECK(fixture.workers->jobs.ValuesOf(workers[0]) == std::vector<int>{-1, 0, 1});
  CHECK(fixture.workers->jobs.ValuesOf(workers[1]) == std::vector<int>{-1, 0});  // was still full
}

// What a job does, and cannot be copied more often than so many times from the first one.
struct Fragile {
  explicit Fragile(int depth_in) : depth(depth_in) {}
  Fragile(Fragile&&) noexcept = default;
  Fragile(const Fragile& other) : depth(other.depth - 1) {
    if (depth < 0) throw std::runtime_error("no copy");
  }
  gen::Status operator()(kit::Worker&) const { return gen::Continue(); }
  gen::CallResult operator()(kit::Worker& self, gen::PID, gen::Ref) const {
    return gen::Reply(Answer{1, self.Self()});
  }
  int depth;
};

TEST_CASE("Broadcast: a message that cannot be copied reaches nobody, and its sender is told") {
  for (const int depth : {0, 1}) {  // each copy is made of the message itself
    CAPTURE(depth);
    for (const bool held : {false, true}) {
      CAPTURE(held);
      BroadcastFixture fixture;
      auto pool = fixture.Start(3, held ? 1 : 0);
      kit::Gate gate(fixture.node);
      if (held) {
        fixture.HoldEach(gate, pool.Workers());
        fixture.node.Send(pool.pid(), Job{0}).value();
        REQUIRE(Eventually([&] { return pool.Stats()["messages_forwarded"] == 3; }));
      }
      fixture.node.Send(pool.pid(), Job{1, Fragile(depth)}).value();
      fixture.node.SendOrWait(pool.pid(), Job{2}, kit::kDeadline).value();
      if (held && depth == 1)
        REQUIRE(Eventually([&] { return pool.Stats()["messages_queued"] == 5; }));
      gate.Open();
      REQUIRE(pool.EventuallyAtRest());
      std::int64_t ones = 0;
      std::int64_t twos = 0;
      for (const gen::PID worker : pool.Workers()) {
        const auto values = fixture.workers->jobs.ValuesOf(worker);
        CHECK(std::count(values.begin(), values.end(), 1) <= 1);
        ones += std::count(values.begin(), values.end(), 1);
        twos += std::count(values.begin(), values.end(), 2);
      }
      CHECK((ones != 0) == (depth == 1));
      CHECK(twos != 0);
      // A worker that is full when another one has room misses the message, and that is counted.
      const std::int64_t missed = pool.Stats()["messages_lost_missed"];
      CHECK(ones + twos + missed == (depth == 1 ? 6 : 3));
      if (!held) CHECK(missed == 0);
      CHECK(pool.Stats()["messages_lost_failed"] == (depth == 0 ? 1 : 0));
      CHECK(fixture.node.Info().dropped_failed == (depth == 0 ? 1 : 0));
    }
    BroadcastFixture fixture;
    auto pool = fixture.Start(3);
    auto outcome = fixture.Call(pool, Ask{1, Fragile(depth)}, gen::kInfinite);
    if (depth == 0) {
      CHECK(outcome.error().ToString() == "the copy for each worker threw: no copy");
    } else {
      CHECK(outcome.value().size() == 3);
    }
    CHECK(fixture.IsAlive(pool.pid()));
  }
}

TEST_CASE("Broadcast: mailboxes that drop do so for other types, too, and none waits at the pool") {
  for (const auto overflow : {gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
    BroadcastFixture fixture;
    act::PoolOptions options = fixture.Options(2);
    options.strategy = PoolStrategy::Broadcast<Ask>();
    options.worker_mailbox = gen::Mailbox::Bounded(2, overflow);
    auto pool = fixture.StartPool(options);
    kit::Gate gate(fixture.node);
    fixture.HoldEach(gate, pool.Workers());
    for (int value = 0; value < 14; ++value) {
      fixture.node.SendOrWait(pool.pid(), Job{value}, kit::kDeadline).value();
    }
    // The first two of each worker wait there.
    REQUIRE(Eventually([&] { return pool.Stats()["messages_lost_full"] == 10; }));
    CHECK(pool.Stats()["messages_queued"] == 4);
    gate.Open();
    REQUIRE(pool.EventuallyAtRest());
    CHECK(pool.Stats().Conserved());
    const bool oldest = overflow == gen::Overflow::kDropOldest;
    auto values = fixture.workers->jobs.SortedValues();
    values.erase(values.begin(), values.begin() + 2);  // those that were held
    CHECK(values == (oldest ? std::vector<int>{10, 11, 12, 13} : std::vector<int>{0, 1, 2, 3}));
  }
}

TEST_CASE("Broadcast: other types go to one worker; an admission limit is not for it") {
  BroadcastFixture fixture;
  act::PoolOptions options = fixture.Options(3);
  options.strategy = PoolStrategy::Broadcast<Ask>();
  auto pool = fixture.StartPool(options);
  for (int value = 0; value < 9; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
  REQUIRE(pool.EventuallyHandled(9));
  for (const gen::PID worker : pool.Workers()) {
    CHECK(fixture.workers->jobs.ValuesOf(worker).size() == 3);
  }
  options.admission_limit = 1ms;
  CHECK(options.Validate().find("admission_limit: ") == 0);
}

TEST_CASE("Broadcast: a request does not overtake what waits for the successor of a worker") {
  const kit::ManualTime time;
  BroadcastFixture fixture(time.Into());
  auto pool = fixture.Start(1, 10);
  kit::Gate crashes(fixture.node);
  kit::Gate begins(fixture.node);
  kit::Gate first(fixture.node);
  fixture.node.Send(pool.Workers()[0], Job{-1, kit::Then(Hold(crashes), Crash("on purpose"))})
      .value();
  REQUIRE(Eventually([&] { return crashes.Entered() == 1; }));
  fixture.node.Send(pool.pid(), Job{0, Hold(first)}).value();
  for (int value = 1; value < 5; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
  REQUIRE(Eventually([&] { return pool.Stats()["messages_forwarded"] == 5; }));
  fixture.workers->SetInit([pid = begins.pid()](kit::Worker& self) {
    (void)self.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite});
    return gen::Continue();
  });
  crashes.Open();
  REQUIRE(time.PassUntil([&] { return begins.Entered() == 1; }, 1ms));
  CHECK(pool.Run<bool>([](kit::ManagedPool& self) -> gen::Result<bool> {
              return self.Change({.worker_mailbox_size = 1}).has_value();
            })
            .value());
  begins.Open();
  REQUIRE(Eventually([&] { return first.Entered() == 1; }));
  first.Open();
  // It has room again, but the pool offers what waits only when time passes.
  REQUIRE(Eventually([&] { return fixture.workers->done.Has(0); }));
  auto call =
      fixture.node.CallAsync<BroadcastAnswers>(pool.pid(), Ask{9}, {.timeout = gen::kInfinite});
  REQUIRE(time.PassUntil([&] { return call.wait_for(0s) == std::future_status::ready; }, 1ms));
  CHECK(call.get().value().size() == 1);
  CHECK(fixture.workers->done.Values() == std::vector<int>{0, 1, 2, 3, 4, 9});
}

}  // namespace
}  // namespace ergon
