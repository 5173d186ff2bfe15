// How a pool ends, and what comes after it.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
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

// A pool of two whose workers are held, with messages and calls behind that.
struct BusyPool {
  BusyPool(kit::NodeFixture& fixture, const act::PoolOptions& options)
      : gate(fixture.node),
        watcher(fixture.node),
        pool(fixture.StartPool(options)),
        workers(pool.Workers()) {
    watcher.Watch(pool.pid());
    for (gen::PID worker : workers) watcher.Watch(worker);
    for (int i = 0; i < 2; ++i) fixture.node.Send(pool.pid(), Job{i, Hold(gate)}).value();
    REQUIRE(Eventually([&] { return gate.Entered() == 2; }));
    for (int i = 2; i < 12; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
    for (int i = 0; i < 4; ++i) {
      calls.push_back(
          fixture.node.CallAsync<Answer>(pool.pid(), Ask{i}, {.timeout = gen::kInfinite}));
    }
  }
  // Older than the pool: when the node stops they outlive it.
  kit::Gate gate;
  kit::ProberHandle watcher;
  kit::PoolHandle pool;
  std::vector<gen::PID> workers;
  std::vector<std::future<gen::Result<Answer>>> calls;
};

// Asks a pool to end, in one of the ways that end it in order, and returns the reason.
gen::Reason AskToEnd(kit::NodeFixture& fixture, BusyPool& busy) {
  gen::Reason reason;
  SUBCASE("it stops itself, normally") { busy.pool.End(reason).value(); }
  SUBCASE("it stops itself, with shutdown") {
    reason = gen::Reason::Shutdown();
    busy.pool.End(reason).value();
  }
  SUBCASE("shutdown, by an exit signal") {
    reason = gen::Reason::Shutdown();
    fixture.node.SendExit(busy.pool.pid(), reason).value();
  }
  return reason;
}

TEST_CASE("The pool ends in order: it takes nothing more, the workers handle what they have") {
  kit::NodeFixture fixture;
  auto options = fixture.Options(2);
  options.shutdown_timeout = 1h;
  BusyPool busy(fixture, options);
  const gen::Reason reason = AskToEnd(fixture, busy);

  REQUIRE(Eventually([&] { return busy.pool.Stats().Text("state") == "stopping"; }));
  CHECK(fixture.node.Send(busy.pool.pid(), Job{99}).error() == gen::ErrProcessTerminated);
  CHECK(fixture.node.Call<Answer>(busy.pool.pid(), Ask{99}, {.timeout = gen::kInfinite}).error() ==
        gen::ErrProcessTerminated);
  CHECK(busy.watcher.inbox().Downs().empty());

  busy.gate.Open();
  for (int i = 0; i < 4; ++i) CHECK(busy.calls[i].get().value().value == i);
  REQUIRE(busy.watcher.EventuallyDown(busy.pool.pid()));
  CHECK(busy.watcher.inbox().ReasonOf(busy.pool.pid()) == reason);
  for (gen::PID worker : busy.workers) {
    // Before the pool, which waits for them.
    CHECK(busy.watcher.inbox().DownsOf(worker) == 1);
    CHECK(busy.watcher.inbox().ReasonOf(worker) == reason);
    CHECK(fixture.workers->ReasonsOf(worker).size() == 1);
  }
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 12));
  CHECK(fixture.workers->done.size() == 16);
  CHECK(fixture.pools->terminates == 1);
  CHECK(fixture.node.Send(busy.pool.pid(), Job{99}).error() == gen::ErrProcessTerminated);
  CHECK(fixture.node.Info().dropped_terminated == 0);
}

TEST_CASE("What is not handled by the shutdown timeout is dropped, counted, callers are told") {
  kit::NodeFixture fixture;
  auto options = fixture.Options(2);
  SUBCASE("some time") { options.shutdown_timeout = 20ms; }
  SUBCASE("none at all") { options.shutdown_timeout = 0ms; }
  BusyPool busy(fixture, options);
  busy.pool.End(gen::Reason::Normal()).value();
  for (auto& call : busy.calls) {
    CHECK(call.get().error() == gen::ErrProcessTerminated);
  }
  REQUIRE(busy.watcher.EventuallyDown(busy.pool.pid()));
  CHECK(busy.watcher.inbox().ReasonOf(busy.pool.pid()) == gen::Reason::Normal());
  for (gen::PID worker : busy.workers) {
    REQUIRE(busy.watcher.EventuallyDown(worker));
    CHECK(busy.watcher.inbox().ReasonOf(worker) == gen::Reason::Kill());
    CHECK(fixture.EventuallyGone(worker));
  }
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 2));
  CHECK(fixture.workers->calls.size() == 0);
  CHECK(Eventually([&] { return fixture.node.Info().dropped_terminated == 14; }));
}

TEST_CASE("Killed: at once, what waits is dropped and counted, callers are told") {
  kit::NodeFixture fixture;
  auto options = fixture.Options(2);
  options.shutdown_timeout = 1h;
  BusyPool busy(fixture, options);
  SUBCASE("while it works") {}
  SUBCASE("while it is ending") {
    busy.pool.End(gen::Reason::Normal()).value();
    REQUIRE(Eventually([&] { return busy.pool.Stats().Text("state") == "stopping"; }));
  }
  fixture.node.Kill(busy.pool.pid()).value();
  for (auto& call : busy.calls) {
    CHECK(call.get().error() == gen::ErrProcessTerminated);
  }
  REQUIRE(busy.watcher.EventuallyDown(busy.pool.pid()));
  CHECK(busy.watcher.inbox().ReasonOf(busy.pool.pid()) == gen::Reason::Kill());
  for (gen::PID worker : busy.workers) CHECK(busy.watcher.EventuallyDown(worker));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 2));
  CHECK(Eventually([&] { return fixture.node.Info().dropped_terminated == 14; }));
  CHECK(Eventually([&] { return fixture.pools->terminates == 1; }));
}

TEST_CASE("StopProcess returns when everything that waited has been handled") {
  kit::NodeFixture fixture;
  constexpr int kCount = kit::Scaled(20'000);
  auto tally = std::make_shared<kit::Tally>(kCount);
  auto options = fixture.Options(3);
  options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
  auto pool = fixture.StartPool(options);
  for (int i = 0; i < kCount; ++i) fixture.node.Send(pool.pid(), kit::Numbered{i}).value();
  fixture.node.StopProcess(pool.pid(), kit::kDeadline).value();
  CHECK(tally->EachOnce());
  CHECK_FALSE(fixture.IsAlive(pool.pid()));
}

TEST_CASE("Messages that wait at the pool itself are handled before it ends, if somebody can") {
  kit::NodeFixture fixture;
  auto options = fixture.Options(2);
  fixture.pools->on_init = [](ManagedPool& self) {
    for (int i = 0; i < 100; ++i) self.Send(self.Self(), Job{i}).value();
    self.SendWithPriority(self.Self(), kit::EndPool{gen::Reason::Normal()},
                          gen::MessagePriority::kHigh)
        .value();
  };
  auto pool = fixture.StartPool(options);
  REQUIRE(fixture.EventuallyGone(pool.pid()));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 100));
}

TEST_CASE("The parent's exit signal ends a pool although it traps exits") {
  kit::NodeFixture fixture;
  kit::ProberHandle parent(fixture.node);
  kit::ProberHandle watcher(fixture.node);
  gen::PID pid;
  parent
      .Run([&](Prober& self) {
        pid = self.Spawn(gen::Factory<ManagedPool>(fixture.pools), {.link_parent = true},
                         gen::MakeArgs(fixture.Options(2)))
                  .value();
      })
      .value();
  kit::PoolHandle pool(fixture.node, pid);
  pool.Run<bool>([](ManagedPool& self) {
        self.SetTrapExit(true);
        return true;
      })
      .value();
  watcher.Watch(pid);
  const auto workers = pool.Workers();
  parent.Quit(gen::Reason::Error("the family is broken"));
  REQUIRE(watcher.EventuallyDown(pid));
  CHECK(watcher.inbox().ReasonOf(pid) == gen::Reason::Error("the family is broken"));
  for (gen::PID worker : workers) CHECK(fixture.EventuallyGone(worker));
  CHECK(fixture.pools->exits == 0);
}

// Holds the pool in a Call of its own handler, and returns what that returned.
std::future<gen::Result<bool>> HoldInCall(kit::NodeFixture& fixture, kit::PoolHandle& pool,
                                          kit::Gate& gate) {
  auto called = fixture.node.CallAsync<bool>(
      pool.pid(), kit::Manage{[&gate](ManagedPool& self) -> gen::CallResult {
        auto passed = self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite});
        return passed ? gen::Reply(*passed) : gen::ReplyError(passed.error());
      }},
      {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kHigh});
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  return called;
}

TEST_CASE(
    "An exit signal of another ends what the pool's own handler waits for, and then the pool") {
  kit::NodeFixture fixture;
  kit::Gate gate(fixture.node);
  kit::ProberHandle watcher(fixture.node);
  kit::PoolHandle pool = fixture.StartPool(2);
  watcher.Watch(pool.pid());
  auto called = HoldInCall(fixture, pool, gate);
  const gen::Reason reason = gen::Reason::Error("the house is sold");
  // Not the node's, which is its parent.
  watcher.Run([&](Prober& self) { self.SendExit(pool.pid(), reason).value(); }).value();
  CHECK(called.get().error() == gen::ErrProcessTerminated);
  REQUIRE(watcher.EventuallyDown(pool.pid()));
  CHECK(watcher.inbox().ReasonOf(pool.pid()) == reason);
}

TEST_CASE("What the pool's own handler waits for goes on: workers that end, signals it traps") {
  kit::NodeFixture fixture;
  kit::Gate gate(fixture.node);
  kit::ProberHandle watcher(fixture.node);
  kit::PoolHandle pool = fixture.StartPool(2);
  watcher.Watch(pool.pid());
  const auto workers = pool.Workers();
  bool traps = false;
  SUBCASE("a worker ends") {}
  SUBCASE("it traps the exits of others") {
    traps = true;
    pool.Run<bool>([](ManagedPool& self) {
          self.SetTrapExit(true);
          return true;
        })
        .value();
  }
  auto called = HoldInCall(fixture, pool, gate);
  if (traps) {
    const gen::Reason reason = gen::Reason::Error("not meant");
    watcher.Run([&](Prober& self) { self.SendExit(pool.pid(), reason).value(); }).value();
  } else {
    fixture.node.SendExit(workers[0], gen::Reason::Error("broken")).value();
    REQUIRE(fixture.EventuallyGone(workers[0]));
  }
  gate.Open();
  CHECK(called.get().value());
  if (traps) CHECK(Eventually([&] { return fixture.pools->exits == 1; }));
  CHECK(Eventually([&] { return pool.Workers().size() == 2; }));
  CHECK(watcher.inbox().Downs().empty());
}

TEST_CASE("The node stops in order: pools drain") {
  constexpr int kCount = kit::Scaled(20'000);
  kit::NodeFixture fixture({.shutdown_timeout = kit::kDeadline});
  auto tally = std::make_shared<kit::Tally>(kCount);
  auto options = fixture.Options(3);
  options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
  auto pool = fixture.StartPool(options);
  for (int i = 0; i < kCount; ++i) fixture.node.Send(pool.pid(), kit::Numbered{i}).value();
  fixture.node.Stop();
  CHECK(tally->EachOnce());
  CHECK(fixture.node.Info().processes == 0);
  CHECK(fixture.pools->terminates == 1);
}

TEST_CASE("The node stops within its deadline although workers are busy") {
  auto options_of = [](kit::NodeFixture& fixture) {
    auto options = fixture.Options(2);
    options.shutdown_timeout = 1h;
    return options;
  };
  kit::NodeFixture fixture({.shutdown_timeout = 50ms});
  BusyPool busy(fixture, options_of(fixture));
  bool force = false;
  SUBCASE("Stop") {}
  SUBCASE("StopForce") { force = true; }
  auto stopped = std::async(std::launch::async,
                            [&] { force ? fixture.node.StopForce() : fixture.node.Stop(); });
  CHECK(stopped.wait_for(kit::kDeadline) == std::future_status::ready);
  for (auto& call : busy.calls) CHECK_FALSE(call.get().has_value());
  CHECK(fixture.node.Info().processes == 0);
  CHECK(fixture.node.ProcessList().empty());
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 2));
  const auto sent = fixture.node.Send(busy.pool.pid(), Job{1});
  REQUIRE_FALSE(sent.has_value());
  CHECK_FALSE(fixture.TryPool(fixture.Options(1)).has_value());
}

TEST_CASE("The name is free after the end; a new pool under it gets nothing of the old one's") {
  kit::NodeFixture fixture;
  kit::ProberHandle watcher(fixture.node);
  const auto factory = gen::Factory<ManagedPool>(fixture.pools);
  auto options = fixture.Options(2);
  options.shutdown_timeout = 0ms;
  gen::PID before;
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    const gen::PID pid =
        fixture.node.SpawnRegister("jobs", factory, {}, gen::MakeArgs(options)).value();
    CHECK(pid != before);
    before = pid;
    kit::PoolHandle pool(fixture.node, pid);
    const auto workers = pool.Workers();
    CHECK(fixture.node.SpawnRegister("jobs", factory, {}, gen::MakeArgs(options)).error() ==
          gen::ErrTaken);
    // Nothing of the rounds before arrives here.
    const auto fresh = pool.Stats();
    CHECK(fresh["messages_forwarded"] == 0);
    CHECK(fresh["messages_unhandled"] == 0);
    CHECK(fresh["messages_queued"] == 0);
    CHECK(fresh["worker_restarts"] == 0);
    CHECK(fresh["pool_size"] == 2);

    watcher.Watch(pid);
    kit::Gate gate(fixture.node);
    fixture.HoldEach(gate, workers);
    for (int i = 0; i < 10; ++i) fixture.node.Send("jobs", Job{1000 + round}).value();
    if (round % 2 == 0) {
      fixture.node.Kill(pid).value();
    } else {
      pool.End(gen::Reason::Normal()).value();
    }
    fixture.node.WaitProcess(pid, kit::kDeadline).value();
    REQUIRE(watcher.EventuallyDown(pid));
    CHECK(fixture.node.Send("jobs", Job{1}).error() == gen::ErrProcessUnknown);
    gate.Open();
  }
  for (int round = 0; round < 50; ++round) CHECK_FALSE(fixture.workers->jobs.Has(1000 + round));
  CHECK(fixture.pools->exits == 0);
  CHECK(fixture.pools->downs == 0);
  CHECK(fixture.pools->messages.size() == 0);
  CHECK(watcher.inbox().Downs().size() == 50);
  CHECK(Eventually([&] { return fixture.pools->terminates == 50; }));

  // The last one under the name works as the first one would.
  const gen::PID last =
      fixture.node.SpawnRegister("jobs", factory, {}, gen::MakeArgs(options)).value();
  kit::PoolHandle pool(fixture.node, last);
  for (int i = 0; i < 10; ++i) fixture.node.Send("jobs", Job{i}).value();
  CHECK(pool.EventuallyHandled(10));
  CHECK(fixture.node.Call<Answer>("jobs", Ask{1}).value().value == 1);
}

TEST_CASE("Senders by name see either the old pool, nobody, or the new one") {
  kit::NodeFixture fixture;
  constexpr int kRounds = kit::Scaled(100, 5);
  constexpr int kMost = 4'000'000;  // messages of one sender
  auto tally = std::make_shared<kit::Tally>(2 * kMost);
  const auto factory = gen::Factory<ManagedPool>(fixture.pools);
  auto options = fixture.Options(2);
  options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
  std::atomic<int> other_error{0};
  std::atomic<int> accepted{0};
  const auto dropped = [&] {
    const auto info = fixture.node.Info();
    return info.dropped_terminated + info.dropped_unknown;
  };
  kit::Threads senders;
  for (int s = 0; s < 2; ++s) {
    senders.Start([&, s] {
      int number = s * kMost;
      while (!senders.stopped() && number < (s + 1) * kMost) {
        // What was dropped waits no more, so it must not hold up the senders.
        if (accepted - tally->Total() > 20'000 &&
            accepted - tally->Total() - static_cast<int>(dropped()) > 20'000) {
          std::this_thread::yield();
          continue;
        }
        const auto sent = fixture.node.Send("jobs", kit::Numbered{number});
        if (sent) {
          accepted.fetch_add(1);
          ++number;
        } else if (sent.error() != gen::ErrProcessUnknown &&
                   sent.error() != gen::ErrProcessTerminated) {
          other_error.fetch_add(1);
        }
      }
    });
  }
  for (int round = 0; round < kRounds; ++round) {
    const gen::PID pid =
        fixture.node.SpawnRegister("jobs", factory, {}, gen::MakeArgs(options)).value();
    const int before = tally->Total();
    CHECK(Eventually([&] { return tally->Total() > before; }));
    fixture.node.StopProcess(pid, kit::kDeadline).value();
  }
  senders.StopAndJoin();
  CHECK(other_error == 0);
  // Each one that was accepted was handled, or is counted as dropped.
  CHECK(Eventually([&] {
    return static_cast<std::uint64_t>(accepted) ==
           static_cast<std::uint64_t>(tally->Total()) + dropped();
  }));
  CHECK(tally->NoneTwice());
}

TEST_CASE("An ended pool leaves no timer behind, and nothing counts as dropped") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  fixture.node.StopProcess(pool.pid()).value();
  CHECK(kit::Eventually([&] { return fixture.node.Info().timers == 0; }));
  CHECK(fixture.node.Info().dropped_terminated == 0);
}

// So no message comes by a pool to one that takes it with Receive, and whose end would have to account for it.
TEST_CASE_FIXTURE(kit::NodeFixture, "a worker cannot be a function") {
  act::PoolOptions options = Options(1);
  options.worker_factory = gen::ProcessFactory([](gen::Process&) {});
  const auto pool = TryPool(options);
  REQUIRE_FALSE(pool);
  CHECK(pool.error().ToString().find("worker_factory: makes a process function; workers must be "
                                     "behaviours, such as act::Actor") != std::string::npos);
}

}  // namespace
}  // namespace ergon
