// Endings that meet each other: a pool is asked to end while its workers crash, start, or wait for their turn.
#include <atomic>
#include <cstddef>
#include <future>
#include <map>

#include <kit/manual_time.h>
#include <kit/node_fixture.h>
#include <kit/strategies.h>
#include <kit/threads.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using kit::Answer;
using kit::Ask;
using kit::Crash;
using kit::Eventually;
using kit::ForEachStrategy;
using kit::Hold;
using kit::Job;
using kit::Sequence;
using kit::Then;
using kit::With;

// Who starts from now on waits in its Init.
void HoldStarts(kit::NodeFixture& fixture, const kit::Gate& gate) {
  fixture.workers->SetInit(Hold(gate));
}

enum class Ending { kExitSignal, kStopProcess, kNodeStop };

TEST_CASE(
    "Endings: what waits for a replacement that starts is handled, however the pool is ended") {
  for (const Ending ending : {Ending::kExitSignal, Ending::kStopProcess, Ending::kNodeStop}) {
    ForEachStrategy([&](const act::PoolStrategy& strategy) {
      kit::NodeFixture fixture;
      auto pool = fixture.StartPool(With(fixture.Options(1), strategy));
      kit::Gate start(fixture.node);
      kit::Gate busy(fixture.node);
      const gen::PID first = pool.Workers()[0];
      fixture.node.Send(pool.pid(), Job{-1, Hold(busy)}).value();
      REQUIRE(Eventually([&] { return busy.Entered() == 1; }));
      for (int i = 0; i < 20; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
      HoldStarts(fixture, start);
      fixture.node.Kill(first).value();
      REQUIRE(Eventually([&] { return start.Entered() == 1; }));
      REQUIRE(Eventually([&] { return pool.Stats()["messages_queued"] == 20; }));
      kit::Threads threads;
      switch (ending) {
        case Ending::kExitSignal:
          fixture.node.SendExit(pool.pid(), gen::Reason::Shutdown()).value();
          break;
        case Ending::kStopProcess:
          threads.Start([&] { (void)fixture.node.StopProcess(pool.pid(), kit::kDeadline); });
          break;
        case Ending::kNodeStop:
          threads.Start([&] { fixture.node.Stop(); });
          break;
      }
      REQUIRE(Eventually([&] {
        return !fixture.node.Send(pool.pid(), Job{100}).has_value();  // it takes nothing more
      }));
      start.Open();
      threads.Join();
      REQUIRE(fixture.EventuallyGone(pool.pid()));
      auto handled = fixture.workers->done.Values();
      std::erase(handled, 100);  // what came before the pool knew
      std::erase(handled, -1);   // whose wait was ended by the kill
      CHECK(handled == Sequence(0, 20));
    });
  }
}

// Ends a pool while threads send to it, some of which wait for room. Returns how many messages were accepted, and how
// many of these were not handled.
struct Accepted {
  std::int64_t all = 0;
  std::int64_t lost = 0;
};
Accepted EndUnderFire(const act::PoolStrategy& strategy, Ending ending) {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(With(fixture.Options(2, 20), strategy));
  std::atomic<std::int64_t> accepted{0};
  kit::Threads threads;
  for (int i = 0; i < 4; ++i) {
    threads.Start([&, waits = i % 2 == 0] {
      for (int number = 0;; ++number) {
        const auto sent = waits ? fixture.node.SendOrWait(pool.pid(), Job{number}, kit::kDeadline)
                                : fixture.node.Send(pool.pid(), Job{number});
        if (sent) {
          accepted.fetch_add(1);
        } else if (sent.error() != gen::ErrProcessMailboxFull) {
          return;  // it takes nothing more
        }
      }
    });
  }
  CHECK(Eventually([&] { return accepted.load() > 200; }));
  switch (ending) {
    case Ending::kExitSignal:
      CHECK(fixture.node.SendExit(pool.pid(), gen::Reason::Shutdown()));
      break;
    case Ending::kStopProcess:
      CHECK(fixture.node.StopProcess(pool.pid(), kit::kDeadline));
      break;
    case Ending::kNodeStop:
      fixture.node.Stop();
      break;
  }
  threads.Join();
  CHECK(fixture.EventuallyGone(pool.pid()));
  const auto handled = static_cast<std::int64_t>(fixture.workers->done.Values().size());
  return {accepted.load(), accepted.load() - handled};
}

TEST_CASE(
    "Endings: what a pool accepts while it is asked to end is handled, also of who waits for "
    "room") {
  for (const Ending ending : {Ending::kExitSignal, Ending::kStopProcess, Ending::kNodeStop}) {
    ForEachStrategy([&](const act::PoolStrategy& strategy) {
      for (int round = 0; round < kit::Scaled(5, 2); ++round) {
        const Accepted accepted = EndUnderFire(strategy, ending);
        CHECK(accepted.all > 200);
        CHECK(accepted.lost == 0);
      }
    });
  }
}

TEST_CASE("Endings: the last message that waits has expired: the pool ends all the same") {
  kit::NodeFixture fixture;
  act::PoolOptions options = With(fixture.Options(1), act::PoolStrategy::SharedQueue());
  options.shutdown_timeout = gen::kInfinite;
  auto pool = fixture.StartPool(options);
  kit::ThreadGate gate;
  kit::Threads threads;
  threads.Start([&] {
    CHECK(pool.Run<bool>([enter = gate.Holder()](kit::ManagedPool&) {
      enter();
      return true;
    }));
  });
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  CHECK(fixture.node.Call<std::int64_t>(pool.pid(), Ask{1}, {.timeout = 1ms}).error() ==
        gen::ErrTimeout);
  CHECK(fixture.node.SendExit(pool.pid(), gen::Reason::Shutdown()));
  gate.Open();
  threads.Join();
  CHECK(fixture.EventuallyGone(pool.pid()));
}

TEST_CASE("Endings: a pool that is suspended hands out what it has accepted, and ends") {
  kit::NodeFixture fixture;
  act::PoolOptions options = With(fixture.Options(1), act::PoolStrategy::SharedQueue());
  options.shutdown_timeout = gen::kInfinite;
  auto pool = fixture.StartPool(options);
  CHECK(fixture.node.Suspend(pool.pid()));
  for (int i = 0; i < 3; ++i) CHECK(fixture.node.Send(pool.pid(), Job{i}));
  CHECK(fixture.node.SendExit(pool.pid(), gen::Reason::Shutdown()));
  CHECK(fixture.EventuallyGone(pool.pid()));
  CHECK(fixture.workers->done.Values() == Sequence(0, 3));
}

TEST_CASE("Endings: workers that are suspended handle what they and the pool have accepted") {
  ForEachStrategy([](const act::PoolStrategy& strategy) {
    kit::NodeFixture fixture;
    act::PoolOptions options = With(fixture.Options(2), strategy);
    options.shutdown_timeout = gen::kInfinite;
    auto pool = fixture.StartPool(options);
    for (const gen::PID worker : pool.Workers()) fixture.node.Suspend(worker).value();
    for (int i = 0; i < 20; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
    CHECK(fixture.node.StopProcess(pool.pid(), kit::kDeadline));
    CHECK(fixture.workers->done.SortedValues() == Sequence(0, 20));
  });
}

TEST_CASE("Endings: the only worker that is left calls its pool, which ends: told at once") {
  for (const act::PoolStrategy& strategy :
       {act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded(),
        act::PoolStrategy::Random(7)}) {
    std::atomic<bool> fails{false};
    gen::ProcessFactory workers;  // before the node
    kit::NodeFixture fixture;
    act::PoolOptions options = With(fixture.Options(2), strategy);
    workers = options.worker_factory;
    options.worker_factory = gen::ProcessFactory(
        [&workers, &fails] {
          if (fails) throw std::runtime_error("no worker");
          return workers.Make();
        },
        workers.type());
    options.restart_backoff_min = options.restart_backoff_max = 1h;
    options.shutdown_timeout = gen::kInfinite;
    auto pool = fixture.StartPool(options);
    fails = true;
    const gen::PID other = pool.Workers()[1];
    fixture.node.Kill(other).value();
    REQUIRE(fixture.EventuallyGone(other));
    REQUIRE(Eventually([&] { return pool.Stats()["workers_ready"] == 1; }));
    auto answer = fixture.node.CallAsync<Answer>(
        pool.pid(),
        Ask{1,
            [pid = pool.pid()](kit::Worker& self, gen::PID, gen::Ref) {
              const auto inner = self.Call<Answer>(pid, Ask{2}, {.timeout = gen::kInfinite});
              const bool is_told = !inner && inner.error() == gen::ErrDeadlock;
              return gen::Reply(Answer{is_told ? 1 : 0, self.Self()});
            }},
        {.timeout = 2 * kit::kDeadline});
    // The other worker would be replaced, but for the end of the pool.
    REQUIRE(Eventually([&] {
      return fixture.workers->calls.size() == 1 && pool.Stats()["messages_queued"] == 1;
    }));
    CHECK(fixture.node.StopProcess(pool.pid(), kit::kDeadline));
    CHECK(answer.get().value().value == 1);
  }
}

// Keeps all messages for later, which never comes.
class Keeper : public act::Actor {
 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    CHECK(Stash(message));
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    CHECK(Stash(request));
    return gen::NoReply();
  }
};

TEST_CASE(
    "Endings: what workers keep in their stashes is lost with them, at once, and callers are "
    "told") {
  const auto check = [](const act::PoolStrategy& strategy, const gen::Reason& reason) {
    kit::NodeFixture fixture;
    act::PoolOptions options = With(fixture.Options(2), strategy);
    options.worker_factory = gen::Factory<Keeper>();
    options.shutdown_timeout = kit::kDeadline;
    auto pool = fixture.StartPool(options);
    CHECK(fixture.node.Send(pool.pid(), Job{1}));
    auto answer = fixture.node.CallAsync<std::int64_t>(pool.pid(), Ask{2});
    CHECK(Eventually([&] {
      int kept = 0;
      for (const gen::PID worker : pool.Workers()) {
        kept += static_cast<int>(fixture.node.ProcessInfo(worker)->messages_held);
      }
      return kept == 2;
    }));
    const std::uint64_t spawned = fixture.node.Info().processes_spawned;
    CHECK(pool.End(reason));
    CHECK(fixture.node.WaitProcess(pool.pid(), kit::kDeadline));
    CHECK(answer.get().error() == gen::ErrProcessTerminated);
    CHECK(fixture.node.Info().processes_spawned <= spawned + 2);  // one try for each
    CHECK(fixture.node.Info().dropped_terminated == 2);
  };
  ForEachStrategy([&](const act::PoolStrategy& strategy) {
    check(strategy, gen::Reason::Normal());
    check(strategy, gen::Reason::Error("no more"));  // which is how each worker ends, too
  });
}

TEST_CASE("Endings: a worker that crashes while the pool ends: another one handles its queue") {
  ForEachStrategy([&](const act::PoolStrategy& strategy) {
    kit::NodeFixture fixture;
    auto pool = fixture.StartPool(With(fixture.Options(2), strategy));
    kit::Gate gate(fixture.node);
    for (int i = 0; i < 40; ++i) {
      // Every fourth is a bad one; all wait until the pool is about to end.
      if (i % 4 == 3) {
        fixture.node.Send(pool.pid(), Job{i, Then(Hold(gate), Crash("bad"))}).value();
      } else {
        fixture.node.Send(pool.pid(), Job{i, Hold(gate)}).value();
      }
    }
    REQUIRE(Eventually([&] { return gate.Entered() == 2; }));
    pool.End(gen::Reason::Normal()).value();
    REQUIRE(Eventually([&] { return !fixture.node.Send(pool.pid(), Job{99}).has_value(); }));
    gate.Open();
    REQUIRE(fixture.EventuallyGone(pool.pid()));
    auto begun = fixture.workers->jobs.SortedValues();
    std::erase(begun, 99);
    CHECK(begun == Sequence(0, 40));
  });
}

// A pool of pools.
act::PoolOptions Nested(const kit::NodeFixture& fixture, int outer, int inner) {
  act::PoolOptions options = fixture.Options(outer);
  options.worker_factory = gen::Factory<kit::ManagedPool>(fixture.pools);
  options.worker_args = gen::MakeArgs(fixture.Options(inner));
  return options;
}

TEST_CASE(
    "Endings: an inner pool that is taken out now leaves what waits at its workers to the others") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(Nested(fixture, 2, 2));
  kit::Gate gate(fixture.node);
  for (int i = 0; i < 100; ++i) fixture.node.Send(pool.pid(), Job{i, Hold(gate)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 4; }));
  REQUIRE(pool.ShrinkNow(1).value() == 1);
  // Two were being handled there.
  REQUIRE(Eventually([&] { return pool.Stats()["messages_salvaged"] >= 48; }));
  gate.Open();
  REQUIRE(Eventually([&] { return fixture.workers->jobs.size() == 100; }));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 100));
  REQUIRE(pool.EventuallyAtRest());
  const auto stats = pool.Stats();
  CAPTURE(stats.ToString());
  CHECK(stats["messages_forwarded"] == 100);
  CHECK(stats["messages_handled"] + stats["messages_lost"] == 100);
  CHECK(stats["messages_lost"] <= 2);  // those may just have been done
  CHECK(stats["messages_lost"] == stats["messages_lost_crashed"]);
}

struct Pause {};  // an inner pool waits at the gate `pause`

// What inner pools share with their test. The first one gives its worker a turn; those after it ask for a key.
struct InnerScript {
  act::PoolOptions options;
  std::atomic<int> made{0};
  kit::ThreadGate pause;
  kit::ThreadGate key;
};

class TwofoldInnerPool : public act::Pool {
 public:
  explicit TwofoldInnerPool(std::shared_ptr<InnerScript> script) : script_(std::move(script)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    act::PoolOptions options = script_->options;
    if (script_->made.fetch_add(1) > 0) {
      options.strategy = act::PoolStrategy::ByKey<Job>([script = script_](const Job& job) {
        script->key.Enter();
        return job.value;
      });
    }
    return options;
  }
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (!message.Is<Pause>()) return Pool::HandleMessage(from, message);
    script_->pause.Enter();
    return gen::Continue();
  }

  std::shared_ptr<InnerScript> script_;
};

TEST_CASE(
    "Endings: what a sender left at an inner pool without a worker counts once, if that pool is "
    "killed") {
  kit::NodeFixture fixture;
  auto inner = std::make_shared<InnerScript>();
  inner->options = fixture.Options(1);
  act::PoolOptions options = fixture.Options(1);
  options.worker_factory = gen::Factory<TwofoldInnerPool>(inner);
  auto pool = fixture.StartPool(options);
  const gen::PID first = pool.Workers()[0];
  const gen::PID worker = fixture.ChildrenOf(first).at(0);
  fixture.node.SendWithPriority(first, Pause{}, gen::MessagePriority::kHigh).value();
  REQUIRE(Eventually([&] { return inner->pause.Entered() == 1; }));
  fixture.node.Kill(worker).value();
  REQUIRE(fixture.EventuallyGone(worker));
  // Its pool does not know that yet, so the sender meets a worker that is gone.
  fixture.node.Send(pool.pid(), Job{1}).value();
  fixture.node.Kill(first).value();
  inner->pause.Open();
  // It has come back, and the next inner pool is about to give it to a worker.
  REQUIRE(Eventually([&] { return inner->key.Entered() == 1; }));
  CHECK(pool.Stats()["messages_forwarded"] == 1);
  inner->key.Open();
  REQUIRE(pool.EventuallyAtRest());
  CHECK(pool.Stats()["messages_forwarded"] == 1);
  CHECK(fixture.workers->jobs.Values() == std::vector{1});
}

TEST_CASE(
    "Endings: what a pool in the middle could not place counts once, if that pool is killed") {
  kit::ThreadGate start;
  std::atomic<bool> holds_starts{false};
  kit::NodeFixture fixture;
  auto middle = std::make_shared<InnerScript>();
  fixture.pools->on_init = [&](kit::ManagedPool&) {
    if (holds_starts) start.Enter();
  };
  middle->options = fixture.Options(2);
  middle->options.worker_factory = gen::Factory<kit::ManagedPool>(fixture.pools);
  middle->options.worker_args = gen::MakeArgs(fixture.Options(1, 1));
  act::PoolOptions options = fixture.Options(1);
  options.worker_factory = gen::Factory<TwofoldInnerPool>(middle);
  auto pool = fixture.StartPool(options);
  const gen::PID first = pool.Workers()[0];
  const auto inner = fixture.ChildrenOf(first);
  REQUIRE(inner.size() == 2);
  // The full one shall be asked last.
  fixture.node.Send(pool.pid(), Job{0}).value();
  REQUIRE(pool.EventuallyHandled(1));
  // One of its two pools is full, the other one gone, and the next one does not start.
  const gen::PID worker = fixture.ChildrenOf(inner[0]).at(0);
  kit::Gate busy(fixture.node);
  fixture.HoldEach(busy, {worker});
  fixture.node.Send(worker, Job{-2}).value();
  fixture.node.SendWithPriority(first, Pause{}, gen::MessagePriority::kHigh).value();
  REQUIRE(Eventually([&] { return middle->pause.Entered() == 1; }));
  holds_starts = true;
  fixture.node.Kill(inner[1]).value();
  REQUIRE(fixture.EventuallyGone(inner[1]));
  fixture.node.Send(pool.pid(), Job{1}).value();
  middle->pause.Open();
  REQUIRE(Eventually([&] { return start.Entered() == 1; }));  // it has tried the full one before
  holds_starts = false;
  fixture.node.Kill(first).value();
  REQUIRE(fixture.EventuallyGone(first));
  start.Open();
  // Two have come back: that one, and what the full worker has left behind, which is new to the outermost pool.
  REQUIRE(Eventually(
      [&] { return middle->key.Entered() == 1 && pool.Stats()["messages_salvaged"] == 2; }));
  CHECK(pool.Stats()["messages_forwarded"] <= 3);
  middle->key.Open();
  REQUIRE(pool.EventuallyAtRest());
  CHECK(pool.Stats()["messages_forwarded"] == 3);
}

TEST_CASE("Endings: three pools deep, the one in the middle is killed") {
  kit::NodeFixture fixture;
  act::PoolOptions options = fixture.Options(2);
  options.worker_factory = gen::Factory<kit::ManagedPool>(fixture.pools);
  options.worker_args = gen::MakeArgs(Nested(fixture, 2, 1));
  auto pool = fixture.StartPool(options);
  kit::Gate gate(fixture.node);
  for (int i = 0; i < 80; ++i) fixture.node.Send(pool.pid(), Job{i, Hold(gate)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 4; }));
  fixture.node.Kill(pool.Workers()[0]).value();
  REQUIRE(Eventually([&] { return pool.Stats()["messages_salvaged"] >= 38; }));
  gate.Open();
  REQUIRE(Eventually([&] { return fixture.workers->jobs.size() == 80; }));
  CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 80));
  REQUIRE(pool.EventuallyAtRest());
  const auto stats = pool.Stats();
  CAPTURE(stats.ToString());
  CHECK(stats["messages_forwarded"] == 80);
  CHECK(stats["messages_handled"] + stats["messages_lost_crashed"] == 80);
}

TEST_CASE("Endings: workers of inner pools crash while inner pools leave: each message once") {
  for (int round = 0; round < kit::Scaled(20, 4); ++round) {
    kit::NodeFixture fixture;
    auto pool = fixture.StartPool(Nested(fixture, 4, 2));
    std::vector<std::future<gen::Result<Answer>>> answers;
    constexpr int kCount = 400;
    std::vector<bool> bad(kCount);
    for (int i = 0; i < kCount; ++i) {
      bad[static_cast<std::size_t>(i)] = i % 10 == 9;
      Ask ask{i};
      if (i % 10 == 9) ask.then = kit::CrashCall("bad");
      answers.push_back(
          fixture.node.CallAsync<Answer>(pool.pid(), std::move(ask), {.timeout = kit::kDeadline}));
      if (i % 100 == 50) {
        CHECK(pool.Shrink(1));
        CHECK(pool.Grow(1));
      }
    }
    for (int i = 0; i < kCount; ++i) {
      CAPTURE(i);
      const auto answer = answers[static_cast<std::size_t>(i)].get();
      if (bad[static_cast<std::size_t>(i)]) {
        REQUIRE_FALSE(answer.has_value());
        CHECK(answer.error() == gen::ErrProcessTerminated);
      } else {
        CHECK(answer.value().value == i);
      }
    }
    CHECK(fixture.workers->calls.SortedValues() == Sequence(0, kCount));
  }
}

TEST_CASE("Endings: by key: a graceful stop does not wait for a place that nobody will take soon") {
  const kit::ManualTime time;  // who has lived for a second has not failed at once
  kit::NodeFixture fixture(time.Into());
  auto options = With(fixture.Options(2), kit::ByValue());
  options.restart_backoff_min = 1h;
  options.restart_backoff_max = 1h;
  options.shutdown_timeout = 1h;
  auto pool = fixture.StartPool(options);
  // The second failure in a row at one place.
  for (int i = 0; i < 2; ++i) {
    const auto workers = pool.Workers();
    REQUIRE(workers.size() == 2);
    const std::int64_t restarts = pool.Stats()["worker_restarts"];
    fixture.node.Kill(workers[0]).value();
    if (i == 0) REQUIRE(Eventually([&] { return pool.Stats()["worker_restarts"] > restarts; }));
    if (i == 0) REQUIRE(pool.EventuallyComplete(2));
  }
  REQUIRE(Eventually([&] { return pool.Stats()["workers_ready"] == 1; }));
  for (int i = 0; i < 50; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  // Half of the keys wait for the place.
  CHECK(pool.Stats()["messages_queued"] > 0);
  fixture.node.StopProcess(pool.pid(), kit::kDeadline).value();
  CHECK(fixture.workers->done.SortedValues() == Sequence(0, 50));
}

TEST_CASE("Endings: a pool that gives up tells at once those whom nobody is there for") {
  for (const bool broadcast : {false, true}) {
    CAPTURE(broadcast);
    kit::NodeFixture fixture;
    auto options =
        With(fixture.Options(1), broadcast ? act::PoolStrategy::Broadcast<Ask>() : kit::ByValue());
    options.max_restarts = 1;
    options.shutdown_timeout = 1h;
    auto pool = fixture.StartPool(options);
    kit::Gate start(fixture.node);
    kit::Gate busy(fixture.node);
    fixture.node.Send(pool.pid(), Job{0, Hold(busy)}).value();
    REQUIRE(Eventually([&] { return busy.Entered() == 1; }));
    auto waits = fixture.node.CallAsync<Answer>(pool.pid(), Ask{1}, {.timeout = 1h});
    HoldStarts(fixture, start);
    fixture.node.Kill(pool.Workers()[0]).value();
    REQUIRE(Eventually([&] { return start.Entered() == 1; }));
    auto comes_later = fixture.node.CallAsync<Answer>(pool.pid(), Ask{2}, {.timeout = 1h});
    REQUIRE(Eventually([&] { return pool.Stats()["messages_queued"] >= 1; }));
    for (const gen::PID worker : fixture.ChildrenOf(pool.pid())) (void)fixture.node.Kill(worker);
    // One restart too many.
    CHECK_FALSE(waits.get().has_value());
    CHECK_FALSE(comes_later.get().has_value());
    REQUIRE(fixture.EventuallyGone(pool.pid()));
  }
}

TEST_CASE("Least loaded: one worker is stuck, the others share the work evenly") {
  constexpr std::size_t kEach = 20;
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(With(fixture.Options(8), act::PoolStrategy::LeastLoaded()));
  kit::Gate gate(fixture.node);
  fixture.node.Send(pool.pid(), Job{-1, Hold(gate)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  std::map<gen::PID, std::size_t> shares;
  for (std::size_t i = 0; i < 7 * kEach; ++i) {
    const auto answer = fixture.node.Call<Answer>(pool.pid(), Ask{static_cast<int>(i)},
                                                  {.timeout = kit::kDeadline});
    ++shares[answer.value().worker];
    // A worker that has answered is loaded until its handler has returned.
    REQUIRE(Eventually([&] { return pool.Stats()["workers_busy"] == 1; }));
  }
  CHECK(shares.size() == 7);
  for (const auto& [worker, share] : shares) CHECK(share == kEach);
  gate.Open();
}

}  // namespace
}  // namespace ergon
