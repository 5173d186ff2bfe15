#include <ergon/act/pool/inspection.h>

#include "pool_fixture.h"

namespace ergon::act {
namespace {

using namespace std::chrono_literals;
using testing::PoolFixture;
using testing::TestPool;

TEST_CASE("pool inspection: all keys, from the start") {
  PoolFixture f({.pool_size = 2, .worker_mailbox_size = 9});
  f.Start();
  std::vector<std::string> keys;
  const gen::Inspection seen = f.Inspect();
  for (const auto& [key, value] : seen) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"messages_drained",
                                         "messages_expired",
                                         "messages_forwarded",
                                         "messages_handled",
                                         "messages_lost",
                                         "messages_lost_crashed",
                                         "messages_lost_failed",
                                         "messages_lost_full",
                                         "messages_lost_missed",
                                         "messages_lost_terminated",
                                         "messages_overloaded",
                                         "messages_queued",
                                         "messages_salvaged",
                                         "messages_unhandled",
                                         "pool_size",
                                         "queue_wait_estimate_us",
                                         "state",
                                         "strategy",
                                         "worker.1",
                                         "worker.2",
                                         "worker_behavior",
                                         "worker_mailbox_size",
                                         "worker_restarts",
                                         "workers_busy",
                                         "workers_leaving",
                                         "workers_ready",
                                         "workers_starting"});
  CHECK(seen.at("pool_size") == "2");
  CHECK(seen.at("worker_behavior") == "ergon::act::testing::TestWorker");
  CHECK(seen.at("worker_mailbox_size") == "9");
  CHECK(seen.at("state") == "running");
  CHECK(seen.at("worker.1") == "<test@localhost.101.0> queued=0 handled=0 idle");
}

TEST_CASE("pool inspection: workers as they are") {
  PoolFixture f({.pool_size = 3});
  f.Start();
  f.Send(1, 5);
  f.host.Work(101, 1);
  f.host.At(101).busy = true;
  f.host.fail_async_spawns = 1;
  f.Replace(102);  // vacant; its two messages go on
  f.Replace(103);  // starting
  const gen::Inspection seen =
      f.Inspect({"worker", "workers_busy", "workers_ready", "workers_starting", "messages_queued"});
  CHECK(seen.at("worker.1") == "<test@localhost.101.0> queued=4 handled=1 busy");
  CHECK(seen.at("worker.2") == "nobody queued=0 handled=0 waiting for a replacement");
  CHECK(seen.at("worker.3") == "<test@localhost.104.0> queued=0 handled=0 starting");
  CHECK(seen.at("workers_busy") == "1");
  CHECK(seen.at("workers_ready") == "1");
  CHECK(seen.at("workers_starting") == "2");
  CHECK(seen.at("messages_queued") == "4");
  CHECK(seen.size() == 7);
}

TEST_CASE(
    "pool inspection: workers that leave are counted apart, so that no more are busy than there "
    "are") {
  PoolFixture f({.pool_size = 3, .worker_mailbox_size = 10});
  f.Start();
  f.Send(1, 6);
  for (const std::uint64_t worker : {101, 102, 103}) f.host.At(worker).busy = true;
  CHECK(f.Number("workers_busy") == 3);
  f.Manage([](TestPool& pool) {
    CHECK(pool.RemoveWorkers(2).value() == 1);
    return gen::Continue();
  });
  CHECK(f.Number("pool_size") == 1);
  CHECK(f.Number("workers_busy") == 1);
  CHECK(f.Number("workers_leaving") == 2);
  CHECK(f.Number("messages_queued") == 6);
}

TEST_CASE("pool inspection: the user's keys are added, and change nothing") {
  PoolFixture f({.pool_size = 2});
  f.pool.added = {{"cache", "warm"}, {"pool_size", "1000"}};
  f.Start();
  CHECK(f.Inspect().at("cache") == "warm");
  CHECK(f.Inspect().at("pool_size") == "2");
  CHECK(f.Inspect({"cache"}) == gen::Inspection{{"cache", "warm"}});
  CHECK(f.Inspect({"pool_size", "nonsense"}) == gen::Inspection{{"pool_size", "2"}});
}

TEST_CASE("pool inspection: counters do not go down while a worker's end is on its way") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  f.Send(1, 3);
  f.host.Work(101, 2);
  CHECK(f.Number("messages_handled") == 2);
  f.host.At(101).alive = false;  // gone; nothing has arrived yet
  CHECK(f.Number("messages_handled") == 2);
  f.host.End(101, gen::Reason::Normal());
  f.host.Run();
  CHECK(f.Number("messages_handled") == 2);
}

TEST_CASE("pool inspection: requests that expired at the pool itself are unhandled ones") {
  PoolFixture f({.pool_size = 1});
  f.Start();
  CHECK(f.Number("messages_unhandled") == 0);
  f.host.expired = 2;
  CHECK(f.Number("messages_unhandled") == 2);
}

TEST_CASE(
    "pool inspection: the waiting time is what waits, at the pace of those before whom it waits") {
  PoolFigures figures;
  figures.pace = 2'000'000;
  figures.queued_at_pool = 50;
  const auto estimate = [&] { return MakePoolStats(figures).queue_wait_estimate.count(); };
  CHECK(estimate() == 100'000);  // no worker is there: as if one were
  PoolFigures::Worker worker;
  figures.workers = {worker, worker, worker, worker};
  CHECK(estimate() == 25'000);
  figures.queued_at_pool = 0;
  CHECK(estimate() == 0);
  // At a slow worker, at others of which nothing is known, and at one that leaves.
  for (auto& one : figures.workers) one.progress.queued = 8;
  figures.workers[0].progress.pace = std::chrono::milliseconds(7);
  figures.workers[3].member.leaving = true;
  CHECK(estimate() == 8 * (7'000 + 2'000 + 2'000) / 3);
  CHECK(MeanPace(figures.workers, 0) == 7'000'000);
  CHECK(MeanPace(figures.workers, 3) == 3);
  figures.workers[1].progress.mean_handling = std::chrono::milliseconds(1);
  CHECK(MeanPace(figures.workers, 0) == 4'000'000);
  figures.workers[1].progress.passes_on = true;  // a pool, which is given each message at once
  CHECK(MeanPace(figures.workers, 3) == 4'000'000);
  auto unknown = figures.workers;  // as of an inner ByKey or SharedQueue pool
  for (auto& one : unknown) one.progress.pace = one.progress.mean_handling = {};
  CHECK(MeanPace(unknown, 3) == 3);
  figures.workers[2].progress.busy = true;
  CHECK(LongestNow(figures.workers) == 1'000'000);
  figures.workers[2].progress.lasted = std::chrono::seconds(3);
  CHECK(LongestNow(figures.workers) == 3'000'000'000);
}

}  // namespace
}  // namespace ergon::act
