// What a pool does when all its workers are full, by the kind of their mailboxes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <kit/manual_time.h>
#include <kit/node_fixture.h>
#include <kit/strategies.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;
using kit::Answer;
using kit::Ask;
using kit::Eventually;
using kit::Job;
using kit::Sequence;

// A pool of two workers, both held, whose mailboxes of two are full: of jobs 0 to 3.
struct CrowdedPool {
  explicit CrowdedPool(const gen::Mailbox& mailbox, const gen::ProcessOptions& process = {}) {
    auto options = fixture.Options(2);
    options.worker_mailbox = mailbox;
    pool = kit::PoolHandle(fixture.node, fixture.node
                                             .Spawn(gen::Factory<kit::ManagedPool>(fixture.pools),
                                                    process, gen::MakeArgs(options))
                                             .value());
    workers = pool->Workers();
    fixture.HoldEach(gate, workers);
    for (int i = 0; i < 4; ++i) fixture.node.Send(pool->pid(), Job{i}).value();
  }

  kit::NodeFixture fixture;
  kit::Gate gate{fixture.node};
  std::optional<kit::PoolHandle> pool;
  std::vector<gen::PID> workers;
};

TEST_CASE("A full worker is passed by, however many send at once") {
  constexpr int kBound = 1000;
  constexpr int kSenders = 4;
  constexpr int kEach = 200;  // all of them have room at the other worker
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(fixture.Options(2, kBound));
  const gen::PID full = pool.Workers()[0];
  const gen::PID other = pool.Workers()[1];
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, {full});
  while (fixture.node.Send(full, Job{-1})) {
  }
  std::atomic<int> refused{0};
  for (int round = 0; round < 20; ++round) {
    {
      std::vector<std::jthread> senders;
      for (int i = 0; i < kSenders; ++i) {
        senders.emplace_back([&] {
          for (int value = 0; value < kEach; ++value) {
            refused += fixture.node.Send(pool.pid(), Job{value}) ? 0 : 1;
          }
        });
      }
    }
    REQUIRE(Eventually([&] { return fixture.node.ProcessInfo(other)->messages_queued == 0; }));
  }
  CHECK(refused == 0);
  CHECK(pool.Stats()["messages_unhandled"] == 0);
  gate.Open();
  CHECK(pool.EventuallyAtRest());
}

TEST_CASE("All full, drop newest: the message is dropped and counted, a call is told") {
  CrowdedPool full(gen::Mailbox::Bounded(2, gen::Overflow::kDropNewest));
  auto& node = full.fixture.node;
  CHECK(node.Send(full.pool->pid(), Job{4}));
  CHECK(node.Call<Answer>(full.pool->pid(), Ask{5}, {.timeout = gen::kInfinite}).error() ==
        gen::ErrProcessMailboxFull);
  auto stats = full.pool->Stats();
  CHECK(stats["messages_lost_full"] == 1);
  CHECK(stats["messages_unhandled"] == 2);  // the message and the call
  CHECK(stats["messages_queued"] == 4);
  CHECK(node.Info().dropped_mailbox_full == 1);
  full.gate.Open();
  REQUIRE(full.pool->EventuallyAtRest());
  CHECK(full.pool->Stats().Conserved());
  CHECK(full.fixture.workers->jobs.ValuesOf(full.workers[0]) == std::vector<int>{-1, 0, 2});
  CHECK(full.fixture.workers->jobs.ValuesOf(full.workers[1]) == std::vector<int>{-1, 1, 3});
}

TEST_CASE("All full, drop oldest: the worker whose turn it is drops what waits longest there") {
  CrowdedPool full(gen::Mailbox::Bounded(2, gen::Overflow::kDropOldest));
  auto& node = full.fixture.node;
  CHECK(node.Send(full.pool->pid(), Job{4}));
  CHECK(full.pool->Stats()["messages_lost_full"] == 1);
  auto answer = node.CallAsync<Answer>(full.pool->pid(), Ask{5}, {.timeout = gen::kInfinite});
  CHECK(full.pool->Stats()["messages_lost_full"] == 2);
  full.gate.Open();
  CHECK(answer.get().value().value == 5);
  REQUIRE(full.pool->EventuallyAtRest());
  CHECK(full.pool->Stats().Conserved());
  CHECK(full.fixture.workers->jobs.ValuesOf(full.workers[0]) == std::vector<int>{-1, 2, 4});
  CHECK(full.fixture.workers->jobs.ValuesOf(full.workers[1]) == std::vector<int>{-1, 3});
}

TEST_CASE("The bound of mailboxes that drop is changed: nothing is lost, those to come have it") {
  constexpr gen::CallOptions kHigh{.priority = gen::MessagePriority::kHigh};
  for (const auto overflow : {gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
    CrowdedPool full(gen::Mailbox::Bounded(2, overflow));
    auto& node = full.fixture.node;
    const gen::PID pool = full.pool->pid();
    CHECK(node.Call(pool, act::PoolChange{.worker_mailbox_size = 3}, kHigh));
    for (int i = 4; i < 6; ++i) CHECK(node.Send(pool, Job{i}));
    CHECK(full.pool->Stats()["messages_lost_full"] == 0);
    CHECK(full.pool->Stats()["worker_mailbox_size"] == 3);
    CHECK(node.Call(pool, act::PoolChange{.worker_mailbox_size = 1}, kHigh));
    CHECK(full.pool->Stats()["messages_queued"] == 6);
    CHECK(node.Send(pool, Job{6}));
    CHECK(full.pool->Stats()["messages_lost_full"] == 1);
    CHECK(full.pool->Stats()["messages_queued"] == 6);
    CHECK(node.Call(pool, act::PoolChange{.pool_size = 3}, kHigh));
    const gen::PID added = full.pool->Workers().back();
    const std::string kind = "bounded 1, " + std::string(gen::ToString(overflow));
    for (const gen::PID worker : {added, full.workers[0], full.workers[1]}) {
      CHECK(node.ProcessInfo(worker)->mailbox == kind);
    }
    full.gate.Open();
    REQUIRE(full.pool->EventuallyAtRest());
    CHECK(full.pool->Stats().Conserved());
    CHECK(full.pool->Stats()["messages_handled"] == 6);
  }
}

TEST_CASE("The bound of mailboxes by priority is changed: who waits for room is served") {
  CrowdedPool full(
      gen::Mailbox::BoundedPriority<Job>(2, [](const Job& job) { return -job.value; }));
  auto& node = full.fixture.node;
  const gen::PID pool = full.pool->pid();
  CHECK(node.Send(pool, Job{4}).error() == gen::ErrProcessMailboxFull);
  std::thread sender([&] { CHECK(node.SendOrWait(pool, Job{4}, gen::kInfinite)); });
  CHECK(node.Call(pool, act::PoolChange{.worker_mailbox_size = 3},
                  {.priority = gen::MessagePriority::kHigh}));
  sender.join();
  CHECK(node.Send(pool, Job{5}));
  CHECK(node.Send(pool, Job{6}).error() == gen::ErrProcessMailboxFull);
  full.gate.Open();
  REQUIRE(full.pool->EventuallyHandled(6));
  std::vector<int> handled = full.fixture.workers->jobs.ValuesOf(full.workers[0]);
  for (const int value : full.fixture.workers->jobs.ValuesOf(full.workers[1]))
    handled.push_back(value);
  std::sort(handled.begin(), handled.end());
  CHECK(handled == std::vector<int>{-1, -1, 0, 1, 2, 3, 4, 5});
}

TEST_CASE("As long as one has room nothing is dropped, whatever the policy") {
  for (const auto overflow : {gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
    kit::NodeFixture fixture;
    auto options = fixture.Options(2);
    options.worker_mailbox = gen::Mailbox::Bounded(2, overflow);
    auto pool = fixture.StartPool(options);
    const auto workers = pool.Workers();
    kit::Gate gate(fixture.node);
    fixture.HoldEach(gate, workers);
    for (int i = 0; i < 2; ++i) fixture.node.Send(workers[0], Job{-10 - i}).value();
    for (int i = 0; i < 2; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
    CHECK(fixture.node.Info().dropped_mailbox_full == 0);
    gate.Open();
    REQUIRE(pool.EventuallyHandled(2));
    CHECK(fixture.workers->jobs.ValuesOf(workers[1]) == std::vector<int>{-1, 0, 1});
  }
}

TEST_CASE("What a worker leaves behind that is removed waits for room, whatever the policy") {
  for (const act::PoolStrategy& strategy :
       {act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded(), kit::ByValue(),
        act::PoolStrategy::SharedQueue()}) {
    for (const auto overflow : {gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
      const std::string name(strategy.ToString());
      CAPTURE(name);
      kit::NodeFixture fixture;
      auto options = fixture.Options(2);
      options.worker_mailbox = gen::Mailbox::Bounded(2, overflow);
      options.strategy = strategy;
      auto pool = fixture.StartPool(options);
      const auto workers = pool.Workers();
      // One gate for each, so that one of them may end while the other one has no room.
      kit::Gate first(fixture.node);
      kit::Gate second(fixture.node);
      fixture.HoldEach(first, {workers[0]});
      fixture.HoldEach(second, {workers[1]});
      for (int i = 0; i < 4; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
      // What still waits in the pool's own mailbox would find fewer places when there are fewer workers.
      REQUIRE(
          Eventually([&] { return fixture.node.ProcessInfo(pool.pid())->messages_queued == 0; }));
      CHECK(pool.ShrinkNow(1).value() == 1);
      const bool is_first = pool.Workers().front() == workers[1];
      (is_first ? first : second).Open();
      REQUIRE(Eventually([&] {
        const auto stats = pool.Stats();
        return stats["workers_leaving"] == 0 && stats["messages_queued"] == 4;
      }));
      CHECK(pool.Stats()["messages_lost_full"] == 0);
      (is_first ? second : first).Open();
      REQUIRE(pool.EventuallyAtRest());
      const auto stats = pool.Stats();
      CHECK(stats.Conserved());
      CHECK(stats["messages_lost"] == 0);
      CHECK(fixture.node.Info().dropped_mailbox_full == 0);
      for (int i = 0; i < 4; ++i) CHECK(fixture.workers->jobs.Has(i));
    }
  }
}

// Counts what a pool at `pool` could not take.
class Lodger : public act::Actor {
 public:
  explicit Lodger(std::shared_ptr<std::atomic<int>> count) : count_(std::move(count)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const auto* wrapped = message.As<gen::MessageFallback>();
    if (wrapped != nullptr && wrapped->tag == "busy") count_->fetch_add(1);
    return gen::Continue();
  }
  std::shared_ptr<std::atomic<int>> count_;
};

TEST_CASE("All full, with a fallback: it gets the messages, and calls get errors") {
  auto count = std::make_shared<std::atomic<int>>(0);
  CrowdedPool full(gen::Mailbox::Bounded(2), {.fallback = {.name = "overflow", .tag = "busy"}});
  auto& node = full.fixture.node;
  CHECK(node.SpawnRegister("overflow", gen::Factory<Lodger>(count)));
  CHECK(node.Send(full.pool->pid(), Job{4}));
  CHECK(Eventually([&] { return *count == 1; }));
  CHECK(node.Call<Answer>(full.pool->pid(), Ask{5}).error() == gen::ErrProcessMailboxFull);
  CHECK(full.pool->Stats()["messages_lost"] == 0);
  full.gate.Open();
  REQUIRE(full.pool->EventuallyAtRest());
}

// Of a pool that keeps messages itself, its own mailbox is what may be full.
TEST_CASE("All full, with a fallback: whoever places the messages") {
  for (const act::PoolStrategy& strategy :
       {act::PoolStrategy::SharedQueue(), act::PoolStrategy::Broadcast<Job>()}) {
    const std::string name(strategy.ToString());
    CAPTURE(name);
    auto count = std::make_shared<std::atomic<int>>(0);
    kit::NodeFixture fixture;
    auto& node = fixture.node;
    CHECK(node.SpawnRegister("overflow", gen::Factory<Lodger>(count)));
    auto options = fixture.Options(1, 1);
    options.strategy = strategy;
    const kit::PoolHandle pool(
        node, node.Spawn(gen::Factory<kit::ManagedPool>(fixture.pools),
                         {.fallback = {.name = "overflow", .tag = "busy"}}, gen::MakeArgs(options))
                  .value());
    kit::Gate gate(node);
    node.Send(pool.pid(), Job{0, kit::Hold(gate)}).value();
    REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
    for (int i = 1; i <= 50; ++i) CHECK(node.Send(pool.pid(), Job{i}));
    CHECK(pool.Stats()["messages_unhandled"] == 0);
    gate.Open();
    REQUIRE(Eventually([&] { return pool.Stats()["messages_handled"] + count->load() == 51; }));
  }
}

TEST_CASE("What one pool had to make room for is not privileged in the next") {
  kit::NodeFixture fixture;
  auto options = fixture.Options(2);
  options.worker_mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropOldest);
  auto next = fixture.StartPool(options);
  kit::Gate gate(fixture.node);
  const auto workers = next.Workers();
  fixture.HoldEach(gate, {workers[0]});
  fixture.node.Send(workers[0], Job{-2}).value();  // full; the other one is free
  std::size_t passed = 0;
  // The worker of another such pool passes on what that one made room for.
  class Passing : public act::Actor {
   public:
    explicit Passing(gen::PID to) : to_(to) {}

   private:
    gen::Status HandleMessage(gen::PID, gen::Message& message) override {
      CHECK(Forward(to_, message));
      return gen::Continue();
    }
    gen::PID to_;
  };
  for (const auto overflow : {gen::Overflow::kDropOldest, gen::Overflow::kDropNewest}) {
    auto first_options = fixture.Options(1);
    first_options.worker_factory = gen::Factory<Passing>(next.pid());
    first_options.worker_mailbox = gen::Mailbox::Bounded(1, overflow);
    first_options.strategy = act::PoolStrategy::Broadcast<Job>();  // makes room for each
    auto first = fixture.StartPool(first_options);
    for (int i = 0; i < 2; ++i) {
      fixture.node.Send(first.pid(), Job{i}).value();
      ++passed;
      REQUIRE(
          Eventually([&] { return fixture.workers->jobs.ValuesOf(workers[1]).size() == passed; }));
    }
  }
  CHECK(fixture.node.Info().dropped_mailbox_full == 0);
  gate.Open();
  REQUIRE(next.EventuallyHandled(4));
  CHECK(fixture.workers->jobs.ValuesOf(workers[0]) == std::vector<int>{-1, -2});
}

TEST_CASE("All full: a thread that is no process may wait for room") {
  CrowdedPool full(gen::Mailbox::Bounded(2));
  auto& node = full.fixture.node;
  CHECK(node.SendOrWait(full.pool->pid(), Job{4}, 1ms).error() == gen::ErrProcessMailboxFull);
  std::thread sender([&] { CHECK(node.SendOrWait(full.pool->pid(), Job{4}, kit::kDeadline)); });
  full.gate.Open();
  sender.join();
  REQUIRE(full.pool->EventuallyHandled(5));
}

TEST_CASE("All full: a message counts as refused when its sender waits no longer, and only once") {
  CrowdedPool full(gen::Mailbox::Bounded(2));
  auto& node = full.fixture.node;
  const gen::PID pool = full.pool->pid();
  const auto refused = [&] { return full.pool->Stats()["messages_unhandled"]; };
  CHECK(node.SendOrWait(pool, Job{4}, 1ms).error() == gen::ErrProcessMailboxFull);
  CHECK(refused() == 1);
  std::atomic<bool> sent{false};
  std::thread sender([&] {
    CHECK(node.SendOrWait(pool, Job{4}, kit::kDeadline));
    sent = true;
  });
  // Who may not wait is refused, also because of those who do.
  for (int i = 2; i < 12; ++i) {
    CHECK(node.SendOrWait(pool, Job{5}, 0ns).error() == gen::ErrProcessMailboxFull);
    CHECK(refused() == i);
  }
  CHECK(!sent);
  full.gate.Open();
  sender.join();
  REQUIRE(full.pool->EventuallyHandled(5));
  CHECK(refused() == 11);
}

TEST_CASE("Workers with mailboxes by priority: each in its order, none lost by a crash") {
  kit::NodeFixture fixture;
  auto options = fixture.Options(1);
  options.worker_mailbox = gen::Mailbox::Priority<Job>([](const Job& job) { return -job.value; });
  auto pool = fixture.StartPool(options);
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, pool.Workers());
  for (int i = 0; i < 5; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  const gen::PID first = pool.Workers().front();
  CHECK(fixture.node.Kill(first));
  gate.Open();
  REQUIRE(pool.EventuallyHandled(5));
  std::vector<int> handled;
  for (const int value : fixture.workers->jobs.Values()) {
    if (value >= 0) handled.push_back(value);
  }
  std::sort(handled.begin(), handled.end());
  CHECK(handled == Sequence(0, 5));
  CHECK(pool.Stats()["messages_salvaged"] == 5);
}

TEST_CASE("A pool itself keeps the order of arrival: another mailbox is an error") {
  kit::NodeFixture fixture;
  const auto pool =
      fixture.node.Spawn(gen::Factory<kit::ManagedPool>(fixture.pools),
                         {.mailbox = gen::Mailbox::Bounded(5, gen::Overflow::kDropOldest)},
                         gen::MakeArgs(fixture.Options(1)));
  REQUIRE(!pool);
  CHECK(pool.error().detail().find("worker_mailbox") != std::string::npos);
  auto options = fixture.Options(1, 5);
  options.worker_mailbox = gen::Mailbox::Bounded(5);
  CHECK(options.Validate() ==
        "worker_mailbox_size: 5, but worker_mailbox is given too: bounded 5, reject");
  options.worker_mailbox = gen::Mailbox::Unbounded();
  CHECK(options.Validate() == "worker_mailbox_size: 5, but worker_mailbox is given too: unbounded");
  options.worker_mailbox_size = 0;
  options.worker_mailbox = gen::Mailbox::Bounded(-1);
  CHECK(options.Validate() == "worker_mailbox: bound -1, must be 1..4000000");
}

TEST_CASE(
    "All full: what is dropped for want of room is unhandled, and the log tells of the shortage") {
  kit::ForEachStrategy([](const act::PoolStrategy& strategy) {
    for (const gen::Overflow overflow : {gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
      const kit::ManualTime time;
      kit::NodeFixture fixture(time.Into());
      act::PoolOptions options = kit::With(fixture.Options(2), strategy);
      options.worker_mailbox = gen::Mailbox::Bounded(3, overflow);
      auto pool = fixture.StartPool(options);
      kit::Gate gate(fixture.node);
      fixture.HoldEach(gate, pool.Workers());
      for (int value = 0; value < 20; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
      CHECK(Eventually([&] { return pool.Stats()["messages_lost_full"] >= 12; }));
      CHECK(Eventually([&] {
        const auto stats = pool.Stats();
        return stats["messages_unhandled"] == stats["messages_lost_full"];
      }));
      CHECK(Eventually([&] { return fixture.log.Count(": messages are dropped") == 1; }));
      gate.Open();
      REQUIRE(pool.EventuallyAtRest());
      CHECK(time.PassUntil([&] { return fixture.log.Count("there is room again: ") == 1; }, 1s));
      const std::string told =
          std::to_string(pool.Stats()["messages_lost_full"]) + " messages were dropped or refused";
      CHECK(fixture.log.Count(told) == 1);
    }
  });
}

TEST_CASE("All full, drop oldest: a worker that calls the pool drops what waits at another one") {
  kit::NodeFixture fixture;
  auto options = fixture.Options(2);
  options.worker_mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropOldest);
  auto pool = fixture.StartPool(options);
  const gen::PID caller = pool.Workers()[0];
  const gen::PID other = pool.Workers()[1];
  kit::Gate gate(fixture.node);
  kit::Gate calls(fixture.node);
  std::atomic<int> answered{0};
  const auto call = [&answered, pid = pool.pid()](kit::Worker& self) {
    const auto answer = self.Call<Answer>(pid, Ask{9}, {.timeout = gen::kInfinite});
    answered = answer ? answer->value : -1;
    return gen::Continue();
  };
  fixture.HoldEach(gate, {other});
  fixture.node.Send(caller, Job{-1, Then(kit::Hold(calls), call)}).value();
  REQUIRE(Eventually([&] { return calls.Entered() == 1; }));
  for (int value = 0; value < 2; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
  calls.Open();
  REQUIRE(Eventually([&] { return pool.Stats()["messages_lost_full"] == 1; }));
  CHECK(answered == 0);
  gate.Open();
  REQUIRE(Eventually([&] { return answered != 0; }));
  CHECK(answered == 9);
  CHECK(fixture.workers->calls.WorkerOf(9) == other);
  CHECK(pool.EventuallyAtRest());
}

TEST_CASE("All full: a worker that waits for room at its own pool is told when it is left alone") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2, 1);
  const gen::PID leaves = pool.Workers()[0];  // the next one to be taken out
  const gen::PID waits = pool.Workers()[1];
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, {leaves});
  fixture.node.Send(leaves, Job{0}).value();
  std::atomic<bool> is_told{false};
  const auto wait = [&is_told, pid = pool.pid()](kit::Worker& self) {
    self.Send(self.Self(), Job{1}).value();
    const auto sent = self.SendOrWait(pid, Job{2}, gen::kInfinite);
    is_told = !sent && sent.error() == gen::ErrDeadlock;
    return gen::Continue();
  };
  fixture.node.Send(waits, Job{3, wait}).value();
  const auto is_waiting = [&] {
    const auto info = fixture.node.ProcessInfo(waits);
    return info && info->state == gen::ProcessState::kWaiting;
  };
  REQUIRE(Eventually(is_waiting));
  // Behind it another one waits, for whom there is room then.
  std::atomic<bool> is_sent{false};
  std::jthread behind(
      [&] { is_sent = fixture.node.SendOrWait(pool.pid(), Job{4}, gen::kInfinite).has_value(); });
  CHECK(pool.Shrink(1).value() == 1);
  REQUIRE(Eventually([&] { return is_told.load(); }));
  REQUIRE(Eventually([&] { return is_sent.load(); }));
  gate.Open();
  CHECK(Eventually([&] { return fixture.workers->done.Has(4); }));
  CHECK_FALSE(fixture.workers->jobs.Has(2));
  CHECK(pool.EventuallyAtRest());
}

}  // namespace
}  // namespace ergon
