// Start, forwarding, the pool's own messages, size.
#include <ergon/act/pool.h>

#include "pool_fixture.h"

namespace ergon::act {
namespace {

using namespace std::chrono_literals;
using testing::FakeHost;
using testing::Job;
using testing::PoolFixture;
using testing::TestPool;

using Ints = std::vector<int>;

TEST_CASE("pool: starts its workers and redirects the senders to them") {
  PoolFixture f({.pool_size = 3, .worker_mailbox_size = 7});
  f.Start();
  CHECK(f.host.workers.size() == 3);
  CHECK(f.host.redirected);
  CHECK(f.host.traps_exit);
  CHECK(f.host.mailbox_size == 1);
  CHECK(f.host.rotation.InOrder() == std::vector<std::uint64_t>{101, 102, 103});
  CHECK(f.host.At(101).capacity == 7);
}

TEST_CASE("pool: options out of range fail the spawn, naming field and value") {
  PoolFixture f({.pool_size = 0});
  CHECK_FALSE(f.host.Start(f.pool));
  CHECK(f.host.end_reason.ToString() == "pool_size: 0 is outside 1..10000");
  CHECK(f.host.workers.empty());
  CHECK(f.pool.calls.empty());  // no Terminate
}

TEST_CASE("pool: the user's error fails the spawn") {
  PoolFixture f;
  f.pool.fail_init = true;
  CHECK_FALSE(f.host.Start(f.pool));
  CHECK(f.host.end_reason.ToString() == "no licence");
}

TEST_CASE("pool: one worker that cannot start fails the spawn and ends the others") {
  PoolFixture f({.pool_size = 3});
  f.host.spawns_until_failure = 2;
  CHECK_FALSE(f.host.Start(f.pool));
  CHECK(f.host.end_reason.ToString() == "worker 3 of 3: bad config");
  CHECK(f.host.At(101).killed);
  CHECK(f.host.At(102).killed);
}

TEST_CASE("pool: the rotation visits the workers in order, over rounds") {
  PoolFixture f({.pool_size = 3});
  f.Start();
  f.Send(1, 7);
  CHECK(f.host.Queue(101) == Ints{1, 4, 7});
  CHECK(f.host.Queue(102) == Ints{2, 5});
  CHECK(f.host.Queue(103) == Ints{3, 6});
  CHECK(f.pool.calls.empty());
}

TEST_CASE("pool: high and max priority is the pool's own") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  (void)f.host.Deliver(gen::EnvelopeKind::kMessage, core::Lane::kSystem, Job{1});
  (void)f.host.Deliver(gen::EnvelopeKind::kMessage, core::Lane::kUrgent, Job{2});
  (void)f.host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kSystem, Job{3}, 55);
  f.host.Run();
  CHECK(f.pool.calls == std::vector<std::string>{"message 2", "message 1", "call 3"});
  REQUIRE(f.host.responses.size() == 1);
  CHECK(*f.host.responses[0].envelope->ValueAs<std::int64_t>() == 2);
  CHECK(f.host.Queue(101).empty());
}

TEST_CASE("pool: what arrives in its own Main lane keeps sender and ref on the way on") {
  PoolFixture f({.pool_size = 2});
  f.pool.on_init = [&](TestPool&) {
    // Before the workers are there.
    (void)f.host.Send(1);
    (void)f.host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kMain, Job{2}, 56);
    auto value = core::MakeEnvelope<Job>(0, core::Lane::kMain, 3);
    (void)f.host.Deliver(gen::EnvelopeKind::kEvent, core::Lane::kMain,
                         gen::MessageEvent({"prices", ""}, 0, std::move(value)));
  };
  f.Start();
  CHECK(f.host.redirected);
  CHECK(f.host.Queue(101) == Ints{1});
  REQUIRE(f.host.At(102).queue.size() == 1);
  const core::Envelope& request = *f.host.At(102).queue[0];
  CHECK(request.from == FakeHost::Pid(FakeHost::kClient).ToAddress());
  CHECK(request.ref == 56);
  CHECK((request.flags & core::Envelope::kFlagRouted) != 0);
  CHECK(f.host.At(101).queue.size() == 2);  // with the event
  CHECK(f.Number("messages_forwarded") == 3);
}

TEST_CASE("pool: unhandled requests of its own are answered") {
  PoolFixture f;
  f.Start();
  (void)f.host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kSystem, std::string("?"), 57);
  f.host.Run();
  REQUIRE(f.host.responses.size() == 1);
  CHECK(*f.host.responses[0].envelope->ValueAs<gen::Error>() == gen::ErrUnsupported);
}

TEST_CASE("pool: an atom that nobody handles is told by name") {
  PoolFixture f;
  f.Start();
  (void)f.host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kSystem, gen::Atom("resize"), 57);
  f.host.Run();
  REQUIRE(f.host.responses.size() == 1);
  const gen::Error error = *f.host.responses[0].envelope->ValueAs<gen::Error>();
  CHECK(error == gen::ErrUnsupported);
  CHECK(error.detail() == "request atom 'resize'");
}

TEST_CASE("pool: a full worker is skipped, all full is told to the sender") {
  PoolFixture f({.pool_size = 2, .worker_mailbox_size = 2});
  f.Start();
  f.Send(1, 4);
  CHECK(f.host.Send(5).error() == gen::ErrProcessMailboxFull);
  f.host.Work(102, 1);
  f.Send(6);
  CHECK(f.host.Queue(102) == Ints{4, 6});
  CHECK(f.Number("messages_unhandled") == 1);
  CHECK(f.Number("messages_forwarded") == 5);
  f.WorkAll();
  f.CheckConservation();
}

TEST_CASE("pool: growing appends and counts at once") {
  PoolFixture f({.pool_size = 2, .worker_mailbox_size = 10});
  f.Start();
  f.Send(1);
  f.Manage([](TestPool& pool) {
    const auto size = pool.AddWorkers(2);
    CHECK(size.value() == 4);
    CHECK(pool.WorkerCount() == 4);
    return gen::Continue();
  });
  CHECK(f.host.rotation.InOrder() == std::vector<std::uint64_t>{102, 101, 103, 104});
  CHECK(f.Inspect().at("pool_size") == "4");
  f.Send(2, 5);
  CHECK(f.host.Queue(103) == Ints{4});
  CHECK(f.host.Queue(104) == Ints{5});
}

TEST_CASE("pool: growing is all or nothing") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.host.spawns_until_failure = 1;
  f.Manage([](TestPool& pool) {
    const auto size = pool.AddWorkers(3);
    REQUIRE_FALSE(size);
    CHECK(size.error().ToString() == "process terminated: worker 2 of 3: bad config");
    CHECK(pool.WorkerCount() == 2);
    return gen::Continue();
  });
  CHECK(f.host.At(103).killed);
  CHECK_FALSE(f.host.ended);  // the exit signals of those that failed do not concern the pool
  CHECK(f.host.workers.size() == 4);  // and nobody was replaced
  CHECK(f.host.rotation.InOrder() == std::vector<std::uint64_t>{101, 102});
  CHECK(f.Number("worker_restarts") == 0);
}

TEST_CASE("pool: shrinking takes from the head, and drains") {
  PoolFixture f({.pool_size = 3, .worker_mailbox_size = 10});
  f.Start();
  f.Send(1, 7);  // the next turn is 102's
  f.Manage([](TestPool& pool) {
    CHECK(pool.RemoveWorkers(1).value() == 2);
    CHECK(pool.Workers() == std::vector<gen::PID>{FakeHost::Pid(101), FakeHost::Pid(103)});
    return gen::Continue();
  });
  CHECK(f.Inspect().at("workers_leaving") == "1");
  f.Send(8, 9);
  CHECK(f.host.Queue(102) == Ints{2, 5});
  CHECK(f.host.Queue(103) == Ints{3, 6, 8});
  CHECK(f.host.Queue(101) == Ints{1, 4, 7, 9});
  f.WorkAll();
  CHECK_FALSE(f.host.At(102).alive);
  CHECK(f.host.workers.size() == 3);  // it is not replaced
  CHECK(f.Number("messages_drained") == 2);
  CHECK(f.Number("messages_handled") == 9);
  CHECK(f.Number("worker_restarts") == 0);
  CHECK(f.Inspect().at("workers_leaving") == "0");
  f.CheckConservation();
}

TEST_CASE("pool: what reaches a draining worker too late goes to another") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.Manage([](TestPool& pool) {
    CHECK(pool.RemoveWorkers(1));
    return gen::Continue();
  });
  // A sender that had taken its turn before the shrink.
  auto late = core::MakeEnvelope<Job>(static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage),
                                      core::Lane::kMain, 1);
  (void)f.host.rotation.Next();
  REQUIRE(f.host.Forward(FakeHost::Pid(101), late, true));
  f.host.Work(101);
  f.host.Run();
  CHECK(f.host.Queue(102) == Ints{1});
  CHECK(f.Number("messages_salvaged") == 1);
  f.WorkAll();
  f.CheckConservation();
}

TEST_CASE("pool: shrinking now gives the queue to the others") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.Send(1, 4);
  f.Manage([](TestPool& pool) {
    CHECK(pool.RemoveWorkersNow(1).value() == 1);
    return gen::Continue();
  });
  CHECK(f.host.At(101).killed);
  CHECK(f.host.Queue(102) == Ints{2, 4, 1, 3});
  CHECK(f.Number("messages_forwarded") == 4);
  CHECK(f.Number("messages_drained") == 0);
  f.WorkAll();
  f.CheckConservation();
}

TEST_CASE("pool: more than it has, or all, is refused as a whole") {
  PoolFixture f({.pool_size = 3});
  f.Start();
  f.Manage([](TestPool& pool) {
    for (const int count : {-1, 0, 3, 4}) {
      CAPTURE(count);
      CHECK(pool.RemoveWorkers(count).error() == gen::ErrIncorrect);
      CHECK(pool.RemoveWorkersNow(count).error() == gen::ErrIncorrect);
    }
    CHECK(pool.RemoveWorkers(4).error().detail() == "RemoveWorkers: 4 workers, the pool has 3");
    CHECK(pool.RemoveWorkersNow(0).error().detail() ==
          "RemoveWorkersNow: 0 workers, at least 1 is needed");
    CHECK(pool.RemoveWorkersNow(3).error().detail() ==
          "RemoveWorkersNow: cannot take out all 3 workers, one has to stay");
    CHECK(pool.AddWorkers(0).error() == gen::ErrIncorrect);
    CHECK(pool.AddWorkers(9'998).error() == gen::ErrIncorrect);
    CHECK(pool.WorkerCount() == 3);
    return gen::Continue();
  });
  CHECK(f.host.rotation.size() == 3);
  CHECK(f.host.workers.size() == 3);
}

TEST_CASE("pool: its size is changed by its own handlers only") {
  PoolFixture f({.pool_size = 2});
  CHECK(f.pool.AddWorkers(1).error() == gen::ErrNotAllowed);  // no process yet
  CHECK_THROWS_AS((void)f.pool.WorkerCount(), std::logic_error);
  f.pool.on_init = [](TestPool& pool) {
    CHECK(pool.AddWorkers(1).error() == gen::ErrNotAllowed);
    CHECK(pool.WorkerCount() == 0);
    CHECK(pool.Workers().empty());
  };
  f.Start();
  f.host.in_own_turn = false;
  for (const auto& result :
       {f.pool.AddWorkers(1), f.pool.RemoveWorkers(1), f.pool.RemoveWorkersNow(1)}) {
    REQUIRE_FALSE(result);
    CHECK(result.error() == gen::ErrNotAllowed);
    CHECK(result.error().ToString().find("only in the pool's own handlers") != std::string::npos);
  }
  CHECK_THROWS_AS((void)f.pool.Workers(), std::logic_error);
  f.host.in_own_turn = true;
  f.host.Stop(gen::Reason::Normal());
  CHECK(f.pool.AddWorkers(1).error().ToString().find("the pool is ending") != std::string::npos);
}

TEST_CASE("pool: a request of a worker to its own pool is not given to that worker") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.host.AcceptMain();
  const auto ask = [&](std::uint64_t from, int number, std::uint64_t ref) {
    auto request = core::MakeEnvelope<Job>(static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest),
                                           core::Lane::kMain, number);
    request->from = FakeHost::Pid(from).ToAddress();
    request->ref = ref;
    (void)f.host.Deliver(std::move(request));
    f.host.AcceptMain();
  };
  ask(101, 1, 71);
  f.host.Run();
  CHECK(f.host.Queue(102) == Ints{1});
  f.Manage([](TestPool& pool) {
    CHECK(pool.RemoveWorkers(1));
    return gen::Continue();
  });
  const std::uint64_t left = f.host.rotation.InOrder().front();
  f.host.AcceptMain();
  ask(left, 2, 72);
  f.host.Run();
  REQUIRE(f.host.dropped.size() == 1);
  CHECK(f.host.dropped[0].error == gen::ErrDeadlock);
}

TEST_CASE("pool: a full worker makes no room in its own mailbox for its own request") {
  for (const std::uint64_t worker : {101, 102}) {
    PoolFixture f(
        {.pool_size = 2, .worker_mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropOldest)});
    f.Start();
    f.Send(1, 2);
    f.host.AcceptMain();
    auto request = core::MakeEnvelope<Job>(static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest),
                                           core::Lane::kMain, 3);
    request->from = FakeHost::Pid(worker).ToAddress();
    request->ref = 71;
    REQUIRE(f.host.Deliver(std::move(request)));
    f.host.Run();
    const std::uint64_t other = worker == 101 ? 102 : 101;
    CHECK(f.host.Queue(worker) == Ints{static_cast<int>(worker) - 100});
    CHECK(f.host.Queue(other) == Ints{3});
    CHECK(f.DroppedNumbers() == Ints{static_cast<int>(other) - 100});
    f.host.Work(other);
    f.host.Run();
    f.CheckConservation();
  }
}

TEST_CASE("pool: exit signals of others than workers") {
  const auto signal = [](PoolFixture& f, const gen::Reason& reason) {
    f.host.Signal(gen::EnvelopeKind::kExit, gen::MessageExitPID{FakeHost::Pid(60), reason},
                  FakeHost::Pid(60));
    f.host.Run();
  };
  SUBCASE("not trapped: normal is ignored, a failure ends the pool") {
    PoolFixture f({.pool_size = 1});
    f.Start();
    CHECK_FALSE(f.pool.TrapExit());
    signal(f, gen::Reason::Normal());
    CHECK_FALSE(f.host.refused);
    signal(f, gen::Reason::Error("boom"));
    CHECK(f.host.refused);
    f.WorkAll();
    CHECK(f.host.ended);
    CHECK(f.host.end_reason.ToString() == "boom");
  }
  SUBCASE("not trapped: an explicit one ends the pool, also with normal") {
    PoolFixture f({.pool_size = 1});
    f.Start();
    (void)f.host.Deliver(gen::EnvelopeKind::kExit, core::Lane::kUrgent,
                         gen::MessageExitPID{FakeHost::Pid(60), gen::Reason::Normal()},
                         gen::kExplicitExit);
    f.host.Run();
    CHECK(f.host.refused);
    f.WorkAll();
    CHECK(f.host.ended);
    CHECK(f.host.end_reason.IsNormal());
  }
  SUBCASE("trapped: messages") {
    PoolFixture f({.pool_size = 1});
    f.pool.on_init = [](TestPool& pool) { pool.SetTrapExit(true); };
    f.Start();
    CHECK(f.pool.TrapExit());
    signal(f, gen::Reason::Normal());
    signal(f, gen::Reason::Error("boom"));
    CHECK(f.pool.calls == std::vector<std::string>{"exit normal", "exit boom"});
    CHECK_FALSE(f.host.refused);
    f.Replace(101);  // a worker's end is no message
    CHECK(f.pool.calls.size() == 2);
  }
  SUBCASE("a worker may send one on purpose, which is not its end") {
    PoolFixture f({.pool_size = 2});
    f.pool.on_init = [](TestPool& pool) { pool.SetTrapExit(true); };
    f.Start();
    f.host.Signal(gen::EnvelopeKind::kExit,
                  gen::MessageExitPID{FakeHost::Pid(101), gen::Reason::Error("help")},
                  FakeHost::Pid(101));
    f.host.Run();
    CHECK(f.pool.calls == std::vector<std::string>{"exit help"});
    CHECK(f.host.workers.size() == 2);
  }
}

TEST_CASE("pool: in a constructor nothing works, and says so") {
  class Eager : public Pool {
   public:
    Eager() { SetTrapExit(true); }
    gen::Result<PoolOptions> Init(const gen::Args&) override { return PoolOptions{}; }
  };
  CHECK_THROWS_AS(Eager(), std::logic_error);
}

TEST_CASE(
    "pool: one that sizes itself rests, and then takes as much as its workers have room for") {
  PoolFixture f(
      {.pool_size = 2, .autoscale = PoolAutoscale{.min = 2, .max = 4}, .worker_mailbox_size = 3});
  f.Start();
  CHECK(f.host.redirected);
  CHECK(f.host.timers.size() == 1);
  f.host.Advance(std::chrono::seconds(5));
  CHECK(f.host.timers.empty());
  CHECK_FALSE(f.host.redirected);
  // Nobody runs it meanwhile.
  for (int number = 1; number <= 6; ++number) CHECK(f.host.Send(number));
  CHECK(f.host.Send(7).error() == gen::ErrProcessMailboxFull);
  f.host.Step();
  CHECK(f.host.timers.size() == 1);  // it looks again
  CHECK(f.host.Send(8).error() == gen::ErrProcessMailboxFull);
  f.host.Run();
  CHECK(f.host.redirected);
  CHECK(f.host.Send(9).error() == gen::ErrProcessMailboxFull);
  CHECK(f.host.Queue(101) == std::vector<int>{1, 3, 5});
  CHECK(f.host.Queue(102) == std::vector<int>{2, 4, 6});
  f.WorkAll();
  f.CheckConservation();
  CHECK(f.Number("messages_handled") == 6);
  // Changed by hand at rest: it looks whether that is too many.
  f.host.Advance(std::chrono::seconds(5));
  CHECK(f.host.timers.empty());
  f.Manage([](TestPool& pool) {
    CHECK(pool.AddWorkers(1).value() == 3);
    return gen::Continue();
  });
  f.host.Advance(std::chrono::seconds(15));
  CHECK(f.Number("pool_size") == 2);
  CHECK(f.Inspect().at("autoscale.1").find("3 -> 2 workers: 2 have been enough for 10 s (") !=
        std::string::npos);
}

TEST_CASE("pool: one that sizes itself and cannot start workers says so, and goes on") {
  PoolFixture f({.pool_size = 1, .autoscale = PoolAutoscale{.min = 1, .max = 4}});
  f.Start();
  f.host.spawns_until_failure = 0;
  f.Send(1, 100);
  f.host.Work(101, 2);
  f.host.At(101).busy = true;
  for (int i = 0; i < 5; ++i) f.host.Advance(std::chrono::milliseconds(20));
  CHECK(f.Number("pool_size") == 1);
  const gen::Inspection seen = f.Inspect();
  CHECK(seen.at("autoscale.1").find("stays at 1: workers cannot be started: ") !=
        std::string::npos);
  CHECK_FALSE(seen.contains("autoscale.2"));  // growth that has not happened
}

TEST_CASE("pool: one that rests with more room than a mailbox can have is bounded nevertheless") {
  // 2^21 * 2^11 is 2^32.
  PoolFixture f({.pool_size = 2048,
                 .autoscale = PoolAutoscale{.min = 2048, .max = 2048},
                 .worker_mailbox_size = 2'097'152});
  f.Start();
  f.host.Advance(std::chrono::seconds(5));
  CHECK_FALSE(f.host.redirected);
  CHECK(f.host.mailbox_size == kMaxMailboxSize);
}

TEST_CASE("pool: one that sizes itself does not count what workers that leave have") {
  PoolFixture f({.pool_size = 2, .autoscale = PoolAutoscale{.min = 1, .max = 4}});
  f.Start();
  f.Send(1, 4);
  for (const std::uint64_t worker : {101, 102}) f.host.At(worker).busy = true;
  f.Manage([](TestPool& pool) {
    CHECK(pool.RemoveWorkers(1).value() == 1);
    return gen::Continue();
  });
  CHECK(f.Number("workers_leaving") == 1);
  f.host.At(102).busy = false;
  f.host.Work(102);
  f.host.Run();
  f.host.Advance(std::chrono::seconds(5));
  CHECK(f.Number("messages_queued") > 0);
  CHECK(f.Inspect().at("autoscale") == "1..4 workers, a wait of 10 ms, at rest");
  CHECK(f.host.timers.empty());
}

TEST_CASE("pool: what is dropped arrives once for the autoscaler") {
  for (const auto& strategy : {PoolStrategy::Rotation(), PoolStrategy::SharedQueue(),
                               PoolStrategy::ByKey<Job>([](const Job&) { return 1; })}) {
    CAPTURE(std::string(strategy.ToString()));
    PoolFixture f({.pool_size = 1,
                   .autoscale = PoolAutoscale{.min = 1, .max = 2, .target_wait = 1h},
                   .worker_mailbox = gen::Mailbox::Bounded(2, gen::Overflow::kDropNewest),
                   .strategy = strategy});
    f.Start();
    f.host.At(101).busy = true;
    for (int step = 0; step < 100; ++step) {  // 1,000 in a second
      for (int i = 0; i < 10; ++i) f.Send(i);
      f.host.Run();
      f.host.overflowed = strategy.IsPlacedByPool() ? 0 : f.host.dropped.size();
      f.host.Work(101, 1);
      f.host.Run();
      f.host.Advance(10ms);
    }
    f.Manage([](TestPool& pool) {
      CHECK(pool.Change({.autoscale_max = 1}));
      return gen::Continue();
    });
    f.Manage([](TestPool& pool) {
      CHECK(pool.Change({.autoscale_max = 2, .autoscale_target_wait = 1us}));
      return gen::Continue();
    });
    f.host.Advance(100ms);
    const std::string told = f.Inspect()["autoscale.1"] + f.Inspect()["autoscale.2"];
    const auto at = told.find('(');
    REQUIRE(at != std::string::npos);
    CHECK(std::stod(told.substr(at + 1)) < 1050);
  }
}

}  // namespace
}  // namespace ergon::act
