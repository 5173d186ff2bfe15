// How a pool ends.
#include "pool_fixture.h"

namespace ergon::act {
namespace {

using namespace std::chrono_literals;
using testing::FakeHost;
using testing::Job;
using testing::PoolFixture;
using testing::TestPool;

using Ints = std::vector<int>;

// What a worker was told to end with.
gen::Reason ToldReason(PoolFixture& f, std::uint64_t id) {
  for (auto& envelope : f.host.At(id).queue) {
    if (auto* reason = envelope->ValueAs<gen::Reason>()) return *reason;
  }
  return gen::Reason::Error("nothing");
}

TEST_CASE("pool: asked to end, it takes nothing more and its workers drain") {
  for (const gen::Reason& reason :
       {gen::Reason::Normal(), gen::Reason::Shutdown(), gen::Reason::Error("x")}) {
    PoolFixture f({.pool_size = 2});
    f.Start();
    f.Send(1, 4);
    f.host.Stop(reason);
    CHECK_FALSE(f.host.ended);
    CHECK(f.host.Send(5).error() == gen::ErrProcessTerminated);
    CHECK(ToldReason(f, 101) == reason);
    CHECK((f.host.At(101).is_resumed && f.host.At(102).is_resumed));
    CHECK(f.Inspect().at("state") == "stopping");
    f.host.Work(101);
    f.host.Run();
    CHECK_FALSE(f.host.ended);
    CHECK(f.Number("messages_drained") == 0);  // those are RemoveWorkers' only
    f.host.Work(102);
    f.host.Run();
    REQUIRE(f.host.ended);
    CHECK(f.host.end_reason == reason);
    CHECK(f.host.done == Ints{1, 3, 2, 4});
    CHECK(f.pool.calls == std::vector<std::string>{"terminate " + reason.ToString()});
    CHECK(f.host.workers.size() == 2);
    CHECK(f.host.dropped.empty());
  }
}

TEST_CASE("pool: workers that do not end in time are killed, and the rest is counted") {
  PoolFixture f({.pool_size = 2, .shutdown_timeout = 3s});
  f.Start();
  f.Send(1, 4);
  f.host.Stop(gen::Reason::Shutdown());
  f.host.Work(102);
  f.host.Advance(2999ms);
  CHECK_FALSE(f.host.ended);
  f.host.Advance(1ms);
  REQUIRE(f.host.ended);
  CHECK(f.host.end_reason == gen::Reason::Shutdown());
  CHECK(f.host.At(101).killed);
  CHECK_FALSE(f.host.At(102).killed);
  CHECK(f.DroppedNumbers() == Ints{1, 3});
  for (const auto& dropped : f.host.dropped) {
    CHECK(dropped.reason == gen::DropReason::kTerminated);
    CHECK(dropped.error == gen::ErrProcessTerminated);
  }
}

TEST_CASE("pool: a shutdown timeout of 0 kills at once") {
  PoolFixture f({.pool_size = 2, .shutdown_timeout = 0s});
  f.Start();
  f.Send(1, 2);
  f.host.Stop(gen::Reason::Normal());
  CHECK(f.host.ended);
  CHECK(f.host.At(101).killed);
  CHECK(f.DroppedNumbers() == Ints{1, 2});
}

TEST_CASE("pool: what waits in its own Main lane goes to the workers before they end") {
  PoolFixture f({.pool_size = 2, .worker_mailbox_size = 2});
  f.Start();
  f.host.AcceptMain();
  f.host.mailbox_size = 0;
  f.Send(1, 6);
  (void)f.host.Deliver(
      gen::EnvelopeKind::kMessage, core::Lane::kUrgent,
      TestPool::Manage{[](TestPool&) { return gen::Stop(gen::Reason::Normal()); }});
  REQUIRE(f.host.Step());  // only that
  CHECK(f.host.refused);
  CHECK(f.host.Send(7).error() == gen::ErrProcessTerminated);
  f.host.Run();
  CHECK(f.host.Queue(101) == Ints{1, 3});
  CHECK(f.host.Queue(102) == Ints{2, 4});
  CHECK(f.DroppedNumbers().empty());
  f.WorkAll();
  CHECK_FALSE(f.host.ended);
  f.host.Advance(1ms);  // it has seen that there is room
  f.WorkAll();
  CHECK(f.host.ended);
  CHECK(f.host.done == Ints{1, 3, 2, 4, 5, 6});
}

TEST_CASE("pool: what is held goes to the workers that there are, when they have room") {
  PoolFixture f({.pool_size = 2, .worker_mailbox_size = 1});
  f.Start();
  f.Send(1, 2);
  f.host.fail_async_spawns = 100;
  f.Replace(101);
  REQUIRE(f.host.main_is_held);
  f.host.Stop(gen::Reason::Normal());
  CHECK_FALSE(f.host.main_is_held);
  CHECK_FALSE(f.host.ended);
  f.host.Work(102);
  CHECK_FALSE(f.host.ended);
  f.host.Advance(1ms);
  CHECK(f.host.Queue(102) == Ints{1});
  f.WorkAll();
  CHECK(f.host.ended);
  CHECK(f.host.done == Ints{2, 1});
  CHECK(f.DroppedNumbers().empty());
}

TEST_CASE("pool: what is held waits for the replacement that starts, also when the pool ends") {
  PoolFixture f({.pool_size = 1, .worker_mailbox_size = 4});
  f.Start();
  f.Send(1, 4);
  const std::uint64_t fresh = f.Replace(101);
  f.host.Stop(gen::Reason::Shutdown());
  CHECK_FALSE(f.host.ended);
  f.Ready(fresh);
  CHECK(f.host.Queue(fresh) == Ints{1, 2, 3, 4});
  CHECK(ToldReason(f, fresh) == gen::Reason::Shutdown());
  f.WorkAll();
  CHECK(f.host.ended);
  CHECK(f.host.done == Ints{1, 2, 3, 4});
  CHECK(f.DroppedNumbers().empty());
}

TEST_CASE("pool: asked to end, it does not wait out a back-off that work waits for") {
  PoolFixture f({.pool_size = 1, .restart_backoff_min = 10s, .restart_backoff_max = 10s});
  f.Start();
  f.Send(1);
  f.Replace(f.Replace(101));  // the second failure: in ten seconds
  const std::size_t before = f.host.workers.size();
  f.host.Stop(gen::Reason::Shutdown());
  REQUIRE(f.host.workers.size() == before + 1);
  f.Ready(f.host.LastWorker());
  f.WorkAll();
  CHECK(f.host.ended);
  CHECK(f.host.done == Ints{1});
}

TEST_CASE("pool: work that nobody can be found for is dropped when time is up") {
  PoolFixture f({.pool_size = 1, .shutdown_timeout = 3s});
  f.Start();
  f.host.fail_async_spawns = 1'000'000;
  f.Send(1);
  f.Replace(101);
  f.Send(2);
  f.host.Stop(gen::Reason::Shutdown());
  f.host.Advance(2999ms);
  CHECK_FALSE(f.host.ended);
  f.host.Advance(1ms);
  CHECK(f.host.ended);
  CHECK(f.DroppedNumbers() == Ints{1, 2});
}

TEST_CASE("pool: with nothing to wait for it ends at once") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.host.fail_async_spawns = 100;
  f.Replace(101);
  f.host.Stop(gen::Reason::Shutdown());
  CHECK(f.host.ended);
}

TEST_CASE("pool: it gives up: what nobody is there for is told at once") {
  PoolFixture f({.pool_size = 1, .max_restarts = 1});
  f.Start();
  f.Send(1, 2);
  f.Replace(f.Replace(101));
  REQUIRE(f.host.ended);
  CHECK(f.host.end_reason.IsFailure());
  CHECK(f.DroppedNumbers() == Ints{1, 2});
}

TEST_CASE("pool: workers that are being started end as well") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  const std::uint64_t fresh = f.Replace(101);
  f.host.Stop(gen::Reason::Normal());
  CHECK_FALSE(f.host.ended);
  CHECK(ToldReason(f, fresh) == gen::Reason::Normal());
  f.Ready(fresh);  // too late
  CHECK(f.host.rotation.size() == 0);
  f.host.Work(fresh);
  f.host.Run();
  CHECK(f.host.ended);
  CHECK(f.host.workers.size() == 2);  // nobody is replaced
}

TEST_CASE("pool: what a worker leaves that fails while the pool ends goes to a new one") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.Send(1, 4);
  f.host.Stop(gen::Reason::Normal());
  f.host.End(101, gen::Reason::Panic("x"), true);
  f.host.Run();
  CHECK(f.DroppedNumbers().empty());
  CHECK(f.Number("messages_lost_crashed") == 1);
  f.host.Work(102);
  f.host.Run();
  CHECK_FALSE(f.host.ended);
  const std::uint64_t fresh = f.host.LastWorker();
  REQUIRE(fresh == 103);
  f.Ready(fresh);
  CHECK(f.host.Queue(fresh) == Ints{3});
  f.CheckConservation();
  f.WorkAll();
  CHECK(f.host.ended);
  CHECK(f.host.end_reason.IsNormal());
  CHECK(f.host.done == Ints{2, 4, 3});
}

TEST_CASE("pool: the new one for what was left fails as well: another follows") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.Send(1, 3);
  f.host.Stop(gen::Reason::Normal());
  for (int crash = 0; crash < 2; ++crash) {
    f.host.End(f.host.LastWorker(), gen::Reason::Panic("x"), true);
    f.host.Run();
    f.Ready(f.host.LastWorker());
  }
  f.WorkAll();
  CHECK(f.host.ended);
  CHECK(f.host.done == Ints{3});
  CHECK(f.DroppedNumbers().empty());
}

TEST_CASE("pool: a second request to end changes nothing") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.Send(1);
  f.host.Stop(gen::Reason::Shutdown());
  f.host.Stop(gen::Reason::Error("again"));
  f.Manage([](TestPool&) { return gen::Stop(gen::Reason::Error("and again")); });
  CHECK_FALSE(f.host.ended);
  f.WorkAll();
  CHECK(f.host.ended);
  CHECK(f.host.end_reason == gen::Reason::Shutdown());
}

TEST_CASE("pool: its own handler may end it, and the caller is told at once") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.Send(1);
  (void)f.host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kSystem, Job{0}, 81);
  f.host.Run();
  CHECK_FALSE(f.host.ended);
  REQUIRE(f.host.responses.size() == 1);
  const auto* error = f.host.responses[0].envelope->ValueAs<gen::Error>();
  REQUIRE(error != nullptr);
  CHECK(error->ToString() == "process terminated: asked for it");
  f.WorkAll();
  CHECK(f.host.ended);
  CHECK(f.host.end_reason.ToString() == "asked for it");
  CHECK(f.host.done == Ints{1});
}

TEST_CASE("pool: a panic in its own handler ends it at once, workers too") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.Manage([](TestPool&) -> gen::Status { throw std::runtime_error("mistake"); });
  CHECK(f.host.ended);
  CHECK(f.host.At(101).killed);
  CHECK(f.host.At(102).killed);
  CHECK(f.pool.calls == std::vector<std::string>{"terminate panic: mistake"});
}

TEST_CASE("pool: killed, it drops what it holds") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.Send(1, 2);
  f.Replace(101);
  static_cast<gen::ProcessBehavior&>(f.pool).ProcessTerminate(gen::Reason::Kill());
  CHECK(f.DroppedNumbers() == Ints{1, 2});
  CHECK(f.host.At(102).killed);
}

TEST_CASE("pool: leaving workers are waited for, and are not told twice") {
  PoolFixture f({.pool_size = 2});
  f.Start();
  f.Send(1, 2);
  f.Manage([](TestPool& pool) {
    CHECK(pool.RemoveWorkers(1));
    return gen::Continue();
  });
  f.host.Stop(gen::Reason::Shutdown());
  CHECK(ToldReason(f, 101) == gen::Reason::Normal());
  CHECK(ToldReason(f, 102) == gen::Reason::Shutdown());
  CHECK(f.host.At(101).queue.size() == 2);
  f.host.Work(102);
  f.host.Run();
  CHECK_FALSE(f.host.ended);
  f.WorkAll();
  CHECK(f.host.ended);
}

}  // namespace
}  // namespace ergon::act
