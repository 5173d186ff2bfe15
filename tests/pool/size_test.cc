// How many workers a pool has.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <kit/node_fixture.h>
#include <kit/tally.h>
#include <kit/threads.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;
using kit::Answer;
using kit::Ask;
using kit::Eventually;
using kit::Hold;
using kit::Job;
using kit::ManagedPool;
using kit::Prober;
using kit::Sequence;

std::vector<gen::PID> Sorted(std::vector<gen::PID> pids) {
  std::sort(pids.begin(), pids.end());
  return pids;
}

TEST_CASE("A size of 0, a negative one, one above the limit: the spawn fails and says why") {
  kit::NodeFixture fixture;
  const auto before = fixture.node.ProcessList().size();
  const auto good = fixture.Options(3);

  std::vector<std::pair<act::PoolOptions, std::vector<std::string>>> cases;
  const auto add = [&](auto change, std::string field, std::string value) {
    auto options = good;
    change(options);
    cases.push_back({options, {std::move(field), std::move(value)}});
  };
  add([](auto& o) { o.pool_size = 0; }, "pool_size", "0");
  add([](auto& o) { o.pool_size = -1; }, "pool_size", "-1");
  add([](auto& o) { o.pool_size = 2'000'000'000; }, "pool_size", "2000000000");
  add([](auto& o) { o.pool_size = act::kMaxPoolSize + 1; }, "pool_size",
      std::to_string(act::kMaxPoolSize + 1));
  add([](auto& o) { o.worker_mailbox_size = -7; }, "worker_mailbox_size", "-7");
  add([](auto& o) { o.worker_mailbox_size = act::kMaxMailboxSize + 1; }, "worker_mailbox_size",
      std::to_string(act::kMaxMailboxSize + 1));
  add([](auto& o) { o.restart_backoff_min = 0ns; }, "restart_backoff_min", "0");
  add([](auto& o) { o.restart_backoff_min = 2ms; }, "restart_backoff_max", "1ms");
  add([](auto& o) { o.max_restarts = -3; }, "max_restarts", "-3");
  add([](auto& o) { o.restart_period = -1ns; }, "restart_period", "-1");
  add([](auto& o) { o.shutdown_timeout = -1ns; }, "shutdown_timeout", "-1");
  add([](auto& o) { o.worker_factory = {}; }, "worker_factory", "");

  for (const auto& [options, texts] : cases) {
    const auto pool = fixture.TryPool(options);
    CAPTURE(texts[0]);
    CAPTURE(texts[1]);
    REQUIRE_FALSE(pool.has_value());
    const std::string error = pool.error().ToString();
    CAPTURE(error);
    for (const std::string& text : texts) CHECK(error.find(text) != std::string::npos);
  }
  CHECK(Eventually([&] { return fixture.node.ProcessList().size() == before; }));
  CHECK(fixture.workers->inits == 0);

  // A name that was meant for a failed one is free.
  auto bad = good;
  bad.pool_size = 0;
  const auto factory = gen::Factory<ManagedPool>(fixture.pools);
  CHECK_FALSE(fixture.node.SpawnRegister("jobs", factory, {}, gen::MakeArgs(bad)).has_value());
  CHECK(fixture.node.SpawnRegister("jobs", factory, {}, gen::MakeArgs(good)).has_value());
}

TEST_CASE("An Init that fails: the spawn fails with its error, and so with a throwing one") {
  kit::NodeFixture fixture;
  // Without arguments the ManagedPool's Init returns an error.
  const auto missing = fixture.node.Spawn(gen::Factory<ManagedPool>(fixture.pools));
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().ToString().find("argument 0") != std::string::npos);

  fixture.pools->on_init = [](ManagedPool&) { throw std::runtime_error("no licence"); };
  const auto thrown = fixture.TryPool(fixture.Options(2));
  REQUIRE_FALSE(thrown.has_value());
  CHECK(thrown.error().ToString().find("panic: no licence") != std::string::npos);
}

TEST_CASE("A worker that cannot start: the spawn of the pool fails and leaves nobody behind") {
  kit::NodeFixture fixture;
  const auto before = fixture.node.ProcessList().size();
  fixture.workers->SetInit([&](kit::Worker&) -> gen::Status {
    if (fixture.workers->inits == 3) return gen::Stop(gen::Reason::Error("no third one"));
    return gen::Continue();
  });
  const auto pool = fixture.TryPool(fixture.Options(4));
  REQUIRE_FALSE(pool.has_value());
  CHECK(pool.error().ToString().find("no third one") != std::string::npos);
  CHECK(Eventually([&] { return fixture.node.ProcessList().size() == before; }));
}

TEST_CASE("Size omitted: the default, and inspect shows it") {
  kit::NodeFixture fixture;
  const act::PoolOptions omitted{.worker_factory = gen::Factory<kit::Worker>(fixture.workers)};
  auto pool = fixture.StartPool(omitted);
  const int size = act::PoolOptions{}.pool_size;
  CHECK(size > 0);
  CHECK(pool.Size() == size);
  CHECK(pool.Stats()["pool_size"] == size);
  CHECK(pool.Stats()["workers_ready"] == size);
  CHECK(fixture.ChildrenOf(pool.pid()).size() == static_cast<std::size_t>(size));
}

TEST_CASE("A pool of the smallest and one of the largest size work") {
  kit::NodeFixture fixture;
  auto smallest = fixture.StartPool(1);
  CHECK(fixture.node.Call<Answer>(smallest.pid(), Ask{1}).value().value == 1);
  const int size = kit::Scaled(act::kMaxPoolSize, 10);
  auto largest = fixture.StartPool(size, act::kMaxMailboxSize);
  CHECK(largest.Size() == size);
  for (int i = 0; i < size; ++i) fixture.node.Send(largest.pid(), Job{i}).value();
  CHECK(largest.EventuallyHandled(size));
  if (size == act::kMaxPoolSize) {
    const auto more = largest.Grow(1);
    REQUIRE_FALSE(more.has_value());
    CHECK(more.error() == gen::ErrIncorrect);
  }
}

TEST_CASE("Grow: the new workers come last, inspect says so at once") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3);
  const auto old = pool.Workers();

  fixture.node.Send(pool.pid(), Job{0}).value();  // the head goes to the back
  CHECK(pool.Grow(2).value() == 5);
  const auto stats = pool.Stats();
  CHECK(stats["pool_size"] == 5);
  CHECK(stats["workers_ready"] == 5);
  CHECK(pool.Size() == 5);

  const auto grown = pool.Workers();
  REQUIRE(grown.size() == 5);
  CHECK(std::vector<gen::PID>(grown.begin(), grown.begin() + 3) == old);
  CHECK(Sorted(grown) == fixture.ChildrenOf(pool.pid()));

  const std::vector<gen::PID> order = {old[1], old[2], old[0], grown[3], grown[4]};
  for (int i = 1; i <= 10; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(11));
  for (int i = 1; i <= 10; ++i) {
    CAPTURE(i);
    CHECK(fixture.workers->jobs.WorkerOf(i) == order[(i - 1) % 5]);
  }
}

TEST_CASE("Grow by ten times the initial size, and one by one") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(4);
  CHECK(pool.Grow(40).value() == 44);
  for (int i = 1; i <= 10; ++i) CHECK(pool.Grow(1).value() == 44 + i);
  CHECK(pool.Stats()["pool_size"] == 54);
  const auto workers = pool.Workers();
  REQUIRE(workers.size() == 54);
  for (int i = 0; i < 108; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(108));
  for (gen::PID worker : workers) CHECK(fixture.workers->jobs.ValuesOf(worker).size() == 2);
}

TEST_CASE("Growing is all or nothing, and refuses what is no number of workers") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  const auto workers = pool.Workers();
  for (const int count : {0, -1, act::kMaxPoolSize, 2'000'000'000}) {
    CAPTURE(count);
    const auto grown = pool.Grow(count);
    REQUIRE_FALSE(grown.has_value());
    CHECK(grown.error() == gen::ErrIncorrect);
    CHECK(grown.error().ToString().find(std::to_string(count)) != std::string::npos);
  }
  // The third of the new ones does not start.
  fixture.workers->SetInit([&](kit::Worker&) -> gen::Status {
    if (fixture.workers->inits == 5) return gen::Stop(gen::Reason::Error("no fifth one"));
    return gen::Continue();
  });
  const auto grown = pool.Grow(4);
  REQUIRE_FALSE(grown.has_value());
  CHECK(grown.error().ToString().find("no fifth one") != std::string::npos);
  CHECK(pool.Workers() == workers);
  CHECK(Eventually([&] { return fixture.ChildrenOf(pool.pid()) == Sorted(workers); }));
  const auto stats = pool.Stats();
  CHECK(stats["pool_size"] == 2);
  CHECK(stats["worker_restarts"] == 0);
}

TEST_CASE("Shrink while idle: from the head, with reason normal; the others keep their turns") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(5);
  const auto workers = pool.Workers();
  kit::ProberHandle watcher(fixture.node);
  for (gen::PID worker : workers) watcher.Watch(worker);

  fixture.node.Send(pool.pid(), Job{0}).value();  // the head is the second one now
  REQUIRE(pool.EventuallyHandled(1));
  CHECK(pool.Shrink(2).value() == 3);
  CHECK(pool.Size() == 3);
  CHECK(pool.Stats()["pool_size"] == 3);
  for (const int gone : {1, 2}) {
    REQUIRE(watcher.EventuallyDown(workers[gone]));
    CHECK(watcher.inbox().ReasonOf(workers[gone]) == gen::Reason::Normal());
  }
  const std::vector<gen::PID> rest = {workers[3], workers[4], workers[0]};
  CHECK(Sorted(pool.Workers()) == Sorted(rest));
  for (int i = 1; i <= 6; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(7));
  for (int i = 1; i <= 6; ++i) CHECK(fixture.workers->jobs.WorkerOf(i) == rest[(i - 1) % 3]);
  CHECK(pool.Stats()["worker_restarts"] == 0);
  CHECK(watcher.inbox().Downs().size() == 2);
}

TEST_CASE("Shrink by the size, by more, by nothing: refused as a whole, nothing changed") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3);
  const auto workers = pool.Workers();
  for (const int count : {3, 4, 2'000'000'000, 0, -1}) {
    CAPTURE(count);
    for (const auto& shrunk : {pool.Shrink(count), pool.ShrinkNow(count)}) {
      REQUIRE_FALSE(shrunk.has_value());
      CHECK(shrunk.error() == gen::ErrIncorrect);
      CHECK(shrunk.error().ToString().find(std::to_string(count)) != std::string::npos);
    }
  }
  CHECK(pool.Workers() == workers);
  CHECK(fixture.ChildrenOf(pool.pid()) == Sorted(workers));
  for (int i = 0; i < 3; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(3));
  for (int i = 0; i < 3; ++i) CHECK(fixture.workers->jobs.WorkerOf(i) == workers[i]);
  CHECK(pool.Shrink(2).value() == 1);
}

TEST_CASE("Shrink while workers have queues: all is handled, then they end with normal") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(4);
  const auto workers = pool.Workers();
  kit::ProberHandle watcher(fixture.node);
  for (gen::PID worker : workers) watcher.Watch(worker);

  kit::Gate gate(fixture.node);
  for (int i = 0; i < 4; ++i) fixture.node.Send(pool.pid(), Job{i, Hold(gate)}).value();
  for (int i = 4; i < 24; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 4; }));
  auto stats = pool.Stats();
  CHECK(stats["messages_queued"] == 20);
  CHECK(stats["workers_busy"] == 4);

  CHECK(pool.Shrink(3).value() == 1);
  CHECK(pool.Size() == 1);
  CHECK(pool.Workers() == std::vector<gen::PID>{workers[3]});
  stats = pool.Stats();
  CHECK(stats["pool_size"] == 1);
  CHECK(stats["messages_queued"] == 20);  // those of the draining workers, too
  CHECK(watcher.inbox().Downs().empty());

  // What comes now goes to the one that stays.
  for (int i = 24; i < 30; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  gate.Open();
  REQUIRE(pool.EventuallyHandled(30));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 30));
  CHECK(fixture.workers->done.SortedValues() == Sequence(0, 30));
  for (int w = 0; w < 3; ++w) {
    REQUIRE(watcher.EventuallyDown(workers[w]));
    CHECK(watcher.inbox().ReasonOf(workers[w]) == gen::Reason::Normal());
    CHECK(fixture.workers->jobs.ValuesOf(workers[w]) ==
          std::vector<int>{w, w + 4, w + 8, w + 12, w + 16, w + 20});
    CHECK(fixture.workers->ReasonsOf(workers[w]).size() == 1);
  }
  // Who monitors a worker may learn of its end before the pool does.
  REQUIRE(Eventually([&] { return pool.Stats()["messages_drained"] == 18; }));
  stats = pool.Stats();
  CHECK(stats["messages_lost"] == 0);
  CHECK(stats["messages_salvaged"] == 0);
  CHECK(stats["worker_restarts"] == 0);
  CHECK(fixture.ChildrenOf(pool.pid()) == std::vector<gen::PID>{workers[3]});
}

TEST_CASE("Calls that are queued when their worker is taken out are answered by it") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  const auto workers = pool.Workers();
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, workers);
  auto first = fixture.node.CallAsync<Answer>(pool.pid(), Ask{1}, {.timeout = kit::kDeadline});
  auto second = fixture.node.CallAsync<Answer>(pool.pid(), Ask{2}, {.timeout = kit::kDeadline});
  CHECK(pool.Shrink(1).value() == 1);
  gate.Open();
  CHECK(first.get().value().worker == workers[0]);
  CHECK(second.get().value().worker == workers[1]);
  CHECK(fixture.EventuallyGone(workers[0]));
}

TEST_CASE("A worker that fails while it drains: its queue goes to the others") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  const auto workers = pool.Workers();
  kit::Gate gate(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Then(Hold(gate), kit::Crash("while draining"))}).value();
  for (int i = 1; i < 10; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  REQUIRE(Eventually([&] { return fixture.workers->done.size() == 5; }));
  REQUIRE(pool.Grow(1).value() == 3);
  // The rotation stands at the crashing one again: it is the next to go.
  CHECK(pool.Shrink(1).value() == 2);
  gate.Open();
  REQUIRE(pool.EventuallyAtRest());
  CHECK(fixture.EventuallyGone(workers[0]));
  CHECK(Eventually([&] { return fixture.workers->jobs.size() == 10; }));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 10));
  const auto stats = pool.Stats();
  CHECK(stats["pool_size"] == 2);
  CHECK(stats["worker_restarts"] == 0);  // it was not to be replaced
  CHECK(stats["messages_lost"] == 1);
  CHECK(stats["messages_salvaged"] == 4);
}

TEST_CASE("Shrink with \"now\": the running handler finishes, the queue goes to the others") {
  kit::NodeFixture fixture({.workers = 4});
  auto pool = fixture.StartPool(3);
  const auto workers = pool.Workers();
  kit::ProberHandle watcher(fixture.node);
  watcher.Watch(workers[0]);

  kit::ThreadGate busy;
  kit::Gate gate(fixture.node);
  std::function<gen::Status(kit::Worker&)> run = Hold(gate);
  bool calls = false;
  gen::Result<bool> held = true;
  SUBCASE("it computes") { run = Block(busy); }
  SUBCASE("it waits in a call, which fails at once") {
    calls = true;
    run = [&held, pid = gate.pid()](kit::Worker& worker) {
      held = worker.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite});
      return gen::Continue();
    };
  }
  fixture.node.Send(pool.pid(), Job{0, run}).value();
  for (int i = 1; i < 3; ++i) fixture.node.Send(pool.pid(), Job{i, Hold(gate)}).value();
  for (int i = 3; i < 15; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(Eventually([&] { return gate.Entered() + busy.Entered() == 3; }));

  CHECK(pool.ShrinkNow(1).value() == 2);
  CHECK(pool.Size() == 2);
  busy.Open();
  REQUIRE(watcher.EventuallyDown(workers[0]));
  CHECK(watcher.inbox().ReasonOf(workers[0]) == gen::Reason::Kill());
  CHECK(fixture.workers->done.Has(0));
  REQUIRE(held.has_value() == !calls);
  if (calls) CHECK(held.error() == gen::ErrProcessTerminated);
  gate.Open();
  REQUIRE(pool.EventuallyHandled(15));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 15));
  CHECK(fixture.workers->jobs.ValuesOf(workers[0]) == std::vector<int>{0});
  const auto stats = pool.Stats();
  CHECK(stats["messages_salvaged"] == 4);
  CHECK(stats["messages_lost"] == 0);
  CHECK(stats["worker_restarts"] == 0);
  CHECK(fixture.ChildrenOf(pool.pid()) == Sorted({workers[1], workers[2]}));
  // Its messages went on in their order.
  std::vector<int> moved;
  for (const int value : fixture.workers->jobs.ValuesOf(workers[1])) {
    if (value % 3 == 0) moved.push_back(value);
  }
  CHECK(std::is_sorted(moved.begin(), moved.end()));
}

TEST_CASE("Alternating grows and shrinks under load: no loss, no duplicate, no orphan") {
  constexpr int kRounds = kit::Scaled(100, 4);
  constexpr int kSenders = 3;
  constexpr int kMost = 2'000'000;  // messages of one sender
  kit::NodeFixture fixture;
  auto tally = std::make_shared<kit::Tally>(kSenders * kMost);
  auto options = fixture.Options(4);
  options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
  auto pool = fixture.StartPool(options);

  std::atomic<int> sent{0};
  kit::Threads senders;
  for (int s = 0; s < kSenders; ++s) {
    senders.Start([&, s] {
      int i = 0;
      while (!senders.stopped() && i < kMost) {
        if (sent - tally->Total() > 20'000) {  // no more than that on the way
          std::this_thread::yield();
          continue;
        }
        fixture.node.Send(pool.pid(), kit::Numbered{s * kMost + i}).value();
        sent.fetch_add(1);
        ++i;
      }
    });
  }
  std::int64_t size = 4;
  bool as_told = true;
  for (int round = 0; round < kRounds; ++round) {
    const int count = 1 + round % 7;
    size += count;
    as_told = as_told && pool.Grow(count).value() == size;
    size -= count;
    const auto shrunk = round % 2 == 0 ? pool.Shrink(count) : pool.ShrinkNow(count);
    as_told = as_told && shrunk.value() == size;
  }
  senders.StopAndJoin();
  CHECK(as_told);

  REQUIRE(pool.EventuallyHandled(sent));
  CHECK(tally->NoneTwice());
  CHECK(tally->Total() == sent);
  CHECK(pool.Size() == 4);
  const auto stats = pool.Stats();
  CHECK(stats["pool_size"] == 4);
  CHECK(stats["messages_forwarded"] == sent);
  CHECK(stats["messages_lost"] == 0);
  CHECK(stats["worker_restarts"] == 0);
  CHECK(Eventually([&] { return fixture.ChildrenOf(pool.pid()) == Sorted(pool.Workers()); }));
  CHECK(pool.Workers().size() == 4);
}

TEST_CASE("Resizing from outside of the pool's own turn is refused") {
  kit::NodeFixture fixture;
  gen::Result<std::int64_t> in_init = 0;
  gen::Result<std::int64_t> in_terminate = 0;
  fixture.pools->on_init = [&](ManagedPool& self) { in_init = self.AddWorkers(1); };
  fixture.pools->on_terminate = [&](ManagedPool& self) { in_terminate = self.AddWorkers(1); };
  auto pool = fixture.StartPool(3);
  const auto workers = pool.Workers();
  ManagedPool* behavior = fixture.pools->pool;
  kit::ProberHandle other(fixture.node);

  std::vector<gen::Result<std::int64_t>> results = {
      in_init, behavior->AddWorkers(1), behavior->RemoveWorkers(1), behavior->RemoveWorkersNow(1)};
  CHECK_THROWS_AS((void)behavior->WorkerCount(), std::logic_error);
  CHECK_THROWS_AS((void)behavior->Workers(), std::logic_error);
  other
      .Run([&](Prober&) {
        results.push_back(behavior->AddWorkers(1));
        results.push_back(behavior->RemoveWorkers(1));
        results.push_back(behavior->RemoveWorkersNow(1));
      })
      .value();
  // Also while the pool itself is in a handler, waiting.
  kit::Gate gate(fixture.node);
  auto waiting = fixture.node.CallAsync<int>(
      pool.pid(), kit::Manage{[pid = gate.pid()](ManagedPool& self) -> gen::CallResult {
        (void)self.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite});
        return gen::Reply(1);
      }},
      {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kHigh});
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  results.push_back(behavior->AddWorkers(1));
  gate.Open();
  CHECK(waiting.get().value() == 1);

  for (const auto& result : results) {
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == gen::ErrNotAllowed);
  }
  CHECK(pool.Workers() == workers);
  CHECK(fixture.ChildrenOf(pool.pid()) == Sorted(workers));

  pool.End(gen::Reason::Normal()).value();
  REQUIRE(fixture.EventuallyGone(pool.pid()));
  REQUIRE_FALSE(in_terminate.has_value());
  CHECK(in_terminate.error() == gen::ErrNotAllowed);
}

TEST_CASE("A pool that is asked to end cannot be resized any more") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, pool.Workers());
  pool.End(gen::Reason::Normal()).value();
  REQUIRE(Eventually([&] { return pool.Stats().Text("state") == "stopping"; }));
  const auto grown = pool.Grow(1);
  REQUIRE_FALSE(grown.has_value());
  CHECK(grown.error() == gen::ErrNotAllowed);
  gate.Open();
  CHECK(fixture.EventuallyGone(pool.pid()));
}

}  // namespace
}  // namespace ergon
