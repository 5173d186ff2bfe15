// What a pool tells about itself.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <set>
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
using kit::Crash;
using kit::Eventually;
using kit::Hold;
using kit::Job;
using kit::ManagedPool;
using kit::Prober;

TEST_CASE("The fields of Inspect and their types") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3, 7);
  const auto stats = pool.Stats();
  const std::set<std::string> texts = {"worker_behavior", "strategy", "state",
                                       "worker.1",        "worker.2", "worker.3"};
  const std::set<std::string> numbers = {"pool_size",
                                         "worker_mailbox_size",
                                         "worker_restarts",
                                         "messages_forwarded",
                                         "messages_unhandled",
                                         "workers_ready",
                                         "workers_busy",
                                         "workers_starting",
                                         "messages_queued",
                                         "messages_handled",
                                         "messages_salvaged",
                                         "messages_expired",
                                         "messages_overloaded",
                                         "messages_drained",
                                         "messages_lost",
                                         "messages_lost_full",
                                         "messages_lost_missed",
                                         "messages_lost_failed",
                                         "messages_lost_crashed",
                                         "messages_lost_terminated",
                                         "queue_wait_estimate_us"};
  for (const std::string& key : texts) {
    CAPTURE(key);
    CHECK(stats.Has(key));
  }
  for (const std::string& key : numbers) {
    CAPTURE(key);
    REQUIRE(stats.Has(key));
    CHECK_NOTHROW((void)stats[key]);
    if (key != "pool_size" && key != "worker_mailbox_size" && key != "workers_ready") {
      CHECK(stats[key] == 0);
    }
  }
  for (const auto& [key, value] : stats.values()) {
    CAPTURE(key);
    CHECK_FALSE(value.empty());
    if (texts.count(key) == 0) CHECK_NOTHROW((void)stats[key]);
  }
  CHECK(stats["pool_size"] == 3);
  CHECK(stats["worker_mailbox_size"] == 7);
  CHECK(stats["workers_ready"] == 3);
  CHECK(stats.Text("worker_behavior") == "ergon::kit::Worker");
  CHECK(stats.Text("state") == "running");
  CHECK_FALSE(stats.Has("worker.4"));
}

TEST_CASE("The numbers follow what happens: depth per worker, waiting time, restarts, refusals") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2, 4);
  const auto workers = pool.Workers();
  kit::Gate gate(fixture.node);
  kit::Gate crash(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Then(Hold(crash), Crash("boom"))}).value();
  fixture.node.Send(pool.pid(), Job{1, Hold(gate)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() + crash.Entered() == 2; }));
  for (int i = 2; i < 5; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  auto stats = pool.Stats();
  CHECK(stats["messages_forwarded"] == 5);
  CHECK(stats["messages_queued"] == 3);
  CHECK(stats["workers_busy"] == 2);
  CHECK(stats["queue_wait_estimate_us"] > 0);
  // One has two, the other one.
  CHECK(stats.Text("worker.1").find(workers[0].ToString()) != std::string::npos);
  CHECK(stats.Text("worker.1").find("queued=2") != std::string::npos);
  CHECK(stats.Text("worker.1").find("busy") != std::string::npos);
  CHECK(stats.Text("worker.2").find(workers[1].ToString()) != std::string::npos);
  CHECK(stats.Text("worker.2").find("queued=1") != std::string::npos);

  for (int i = 5; i < 10; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  CHECK_FALSE(fixture.node.Send(pool.pid(), Job{99}).has_value());
  CHECK(pool.Stats()["messages_unhandled"] == 1);
  CHECK(pool.Stats()["messages_queued"] == 8);

  crash.Open();
  REQUIRE(Eventually([&] { return fixture.workers->done.size() == 4; }));
  REQUIRE(Eventually([&] { return pool.Stats()["workers_busy"] == 1; }));
  stats = pool.Stats();
  CHECK(stats["worker_restarts"] == 1);
  CHECK(stats["messages_salvaged"] == 4);
  CHECK(stats["messages_lost"] == 1);
  CHECK(stats["messages_lost_crashed"] == 1);
  CHECK(stats["messages_handled"] == 4);
  CHECK(stats["messages_queued"] == 4);

  gate.Open();
  REQUIRE(pool.EventuallyHandled(9));
  stats = pool.Stats();
  CHECK(stats["messages_forwarded"] == 10);
  CHECK(stats["queue_wait_estimate_us"] == 0);
  CHECK(stats.Text("worker.1").find("queued=0") != std::string::npos);
  CHECK(stats.Text("worker.1").find("idle") != std::string::npos);
}

class TellingPool : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 2,
        .worker_factory = gen::Factory<kit::Worker>(std::make_shared<kit::Script>())};
  }
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    return {{"colour", "blue"}, {"pool_size", "a lie"}};
  }
};

TEST_CASE("HandleInspect adds keys but cannot change the pool's; items select") {
  kit::NodeFixture fixture;
  const gen::PID pool = fixture.node.Spawn(gen::Factory<TellingPool>()).value();
  const auto all = fixture.node.Inspect(pool).value();
  CHECK(all.at("colour") == "blue");
  CHECK(all.at("pool_size") == "2");
  CHECK(fixture.node.Inspect(pool, {"pool_size"}).value() == gen::Inspection{{"pool_size", "2"}});
  CHECK(fixture.node.Inspect(pool, {"colour", "state"}).value() ==
        gen::Inspection{{"colour", "blue"}, {"state", "running"}});
  const auto workers = fixture.node.Inspect(pool, {"worker"}).value();
  CHECK(workers.size() == 2);
  CHECK(workers.count("worker.1") == 1);
  CHECK(fixture.node.Inspect(pool, {"no such key"}).value().empty());
}

TEST_CASE("Inspect of a busy, a full and an ending pool answers") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2, 1);
  kit::Gate gate(fixture.node);
  SUBCASE("busy") {
    fixture.HoldEach(gate, pool.Workers());
    CHECK(pool.Stats()["workers_busy"] == 2);
  }
  SUBCASE("full") {
    fixture.HoldEach(gate, pool.Workers());
    while (fixture.node.Send(pool.pid(), Job{1})) {
    }
    CHECK(pool.Stats()["messages_unhandled"] == 1);
  }
  SUBCASE("ending") {
    fixture.HoldEach(gate, pool.Workers());
    for (int i = 0; i < 2; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
    pool.End(gen::Reason::Normal()).value();
    REQUIRE(Eventually([&] { return pool.Stats().Text("state") == "stopping"; }));
    const auto stats = pool.Stats();
    CHECK(stats["pool_size"] == 2);
    CHECK(stats["messages_forwarded"] == 2);
  }
  SUBCASE("being replaced") {
    fixture.workers->SetInit([pid = gate.pid()](kit::Worker& worker) {
      (void)worker.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite});
      return gen::Continue();
    });
    for (gen::PID worker : pool.Workers()) fixture.node.Kill(worker).value();
    REQUIRE(Eventually([&] { return gate.Entered() == 2; }));
    const auto stats = pool.Stats();
    CHECK(stats["pool_size"] == 2);
    CHECK(stats["workers_starting"] == 2);
    CHECK(stats["workers_ready"] == 0);
  }
  SUBCASE("from inside of a worker and of another process") {
    std::atomic<int> answered{0};
    fixture.node
        .Send(pool.pid(), Job{1,
                              [&](kit::Worker& worker) {
                                answered += worker.Inspect(worker.Parent()).has_value() ? 1 : 0;
                                return gen::Continue();
                              }})
        .value();
    kit::ProberHandle other(fixture.node);
    other.Run([&](Prober& self) { answered += self.Inspect(pool.pid()).has_value() ? 1 : 0; })
        .value();
    CHECK(Eventually([&] { return answered == 2; }));
  }
  gate.Open();
}

TEST_CASE("Inspect of a pool that is gone, or does not get to answer, fails") {
  kit::NodeFixture fixture({.workers = 3});
  auto pool = fixture.StartPool(2);
  kit::ThreadGate gate;
  auto busy = fixture.node.CallAsync<int>(
      pool.pid(), kit::Manage{[enter = gate.Holder()](ManagedPool&) -> gen::CallResult {
        enter();
        return gen::Reply(1);
      }},
      {.timeout = gen::kInfinite, .priority = gen::MessagePriority::kHigh});
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  CHECK(fixture.node.Inspect(pool.pid(), {}, {.timeout = 10ms}).error() == gen::ErrTimeout);
  // Senders do not need the pool to forward.
  CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{1}, {.timeout = kit::kDeadline}).value().value ==
        1);

  // It ends while somebody waits for its inspection.
  std::atomic<pid_t> asker{0};
  auto waiting = std::async(std::launch::async, [&] {
    asker = ::gettid();
    return fixture.node.Inspect(pool.pid(), {}, {.timeout = gen::kInfinite});
  });
  REQUIRE(Eventually([&] { return asker != 0 && kit::Sleeps(asker); }));
  fixture.node.Kill(pool.pid()).value();
  gate.Open();
  CHECK(busy.get().has_value());  // its last handler has answered
  const auto told = waiting.get();
  REQUIRE_FALSE(told.has_value());
  CHECK(told.error() == gen::ErrProcessTerminated);
  REQUIRE(fixture.EventuallyGone(pool.pid()));
  const auto after = fixture.node.Inspect(pool.pid(), {}, {.timeout = gen::kInfinite});
  REQUIRE_FALSE(after.has_value());
  CHECK(after.error() == gen::ErrProcessTerminated);
}

// What inspections cost a loaded pool is a workload of the benchmark: `ergon-bench inspect`.
TEST_CASE("A thousand inspections of a loaded pool: each tells what waits, none of them waits") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(4);
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, pool.Workers());
  for (int i = 0; i < 1000; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  for (int i = 0; i < 1000; ++i) {
    // What a monitor asks for.
    const auto answer =
        fixture.node.Inspect(pool.pid(), {"messages_queued"}, {.timeout = kit::kDeadline});
    REQUIRE(answer.has_value());
    REQUIRE(answer->at("messages_queued") == "1000");
  }
  CHECK(gate.Entered() == 4);
  gate.Open();
  CHECK(pool.EventuallyAtRest());
}

TEST_CASE("Counters never go down, and add up at rest, whatever happens") {
  constexpr int kRounds = kit::Scaled(400, 8);
  const std::vector<std::string> counters = {
      "messages_forwarded", "messages_unhandled", "messages_handled", "messages_salvaged",
      "messages_drained",   "messages_lost",      "worker_restarts"};
  int bound = 0;
  SUBCASE("unbounded") {}
  SUBCASE("bounded, so that messages are refused") { bound = 8; }
  kit::NodeFixture fixture;
  auto tally = std::make_shared<kit::Tally>(20'000'000);
  auto options = fixture.Options(4, bound);
  options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
  auto pool = fixture.StartPool(options);

  std::atomic<int> accepted{0};
  std::atomic<int> refused{0};
  kit::Threads senders;
  for (int s = 0; s < 2; ++s) {
    senders.Start([&, s] {
      int number = s * 10'000'000;
      while (!senders.stopped() && number < (s + 1) * 10'000'000) {
        if (accepted - tally->Total() > 20'000) {
          std::this_thread::yield();
          continue;
        }
        if (fixture.node.Send(pool.pid(), kit::Numbered{number})) {
          ++number;
          accepted.fetch_add(1);
        } else {
          refused.fetch_add(1);
        }
      }
    });
  }
  std::map<std::string, std::int64_t> last;
  std::vector<std::string> went_down;
  const auto look = [&] {
    const auto stats = pool.Stats();
    for (const std::string& key : counters) {
      const std::int64_t now = stats[key];
      if (now < last[key]) {
        went_down.push_back(key + ": " + std::to_string(last[key]) + " -> " + std::to_string(now));
      }
      last[key] = now;
    }
  };
  for (int round = 0; round < kRounds; ++round) {
    look();
    if (round % 4 == 0) (void)fixture.node.Kill(pool.Workers().at(0));
    look();
    if (round % 8 == 2) (void)pool.Grow(2).value();
    if (round % 8 == 6) (void)pool.Shrink(2).value();
    look();
  }
  senders.StopAndJoin();
  REQUIRE(pool.EventuallyAtRest());
  look();
  CAPTURE(went_down.size());
  CHECK((went_down.empty() ? std::string() : went_down.front()) == "");

  // Received = handled + queued + dropped.
  const auto stats = pool.Stats();
  CAPTURE(stats.ToString());
  CHECK(stats["messages_queued"] == 0);
  CHECK(stats["messages_forwarded"] == accepted.load());
  CHECK(stats["messages_handled"] + stats["messages_lost"] == accepted.load());
  CHECK(stats["messages_unhandled"] == refused.load() + stats["messages_lost_full"]);
  CHECK(tally->NoneTwice());
}

// Each number of `stats` is that of Inspect's key.
void CheckSameAs(const kit::Stats& texts, const act::PoolStats& stats) {
  const std::map<std::string, std::uint64_t> numbers = {
      {"pool_size", stats.size},
      {"worker_mailbox_size", stats.worker_mailbox_size},
      {"worker_restarts", stats.worker_restarts},
      {"messages_forwarded", stats.forwarded},
      {"messages_unhandled", stats.unhandled},
      {"workers_ready", stats.ready},
      {"workers_busy", stats.busy},
      {"workers_starting", stats.starting},
      {"workers_leaving", stats.leaving},
      {"messages_queued", stats.queued},
      {"messages_handled", stats.handled},
      {"messages_expired", stats.expired},
      {"messages_overloaded", stats.overloaded},
      {"messages_salvaged", stats.salvaged},
      {"messages_drained", stats.drained},
      {"messages_lost", stats.Lost()},
      {"messages_lost_crashed", stats.lost_crashed},
      {"messages_lost_full", stats.lost_full},
      {"messages_lost_missed", stats.lost_missed},
      {"messages_lost_failed", stats.lost_failed},
      {"messages_lost_terminated", stats.lost_terminated}};
  for (const auto& [key, number] : numbers) {
    CAPTURE(key);
    CHECK(static_cast<std::uint64_t>(texts[key]) == number);
  }
  CHECK(texts.Text("worker_behavior") == stats.worker_behavior);
  CHECK(texts.Text("strategy") == stats.strategy);
  CHECK((texts.Text("state") == "stopping") == stats.stopping);
  CHECK(stats.workers.size() == stats.size);
}

TEST_CASE("A program gets the same as a struct, from outside and inside") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2, 4);
  const auto workers = pool.Workers();
  kit::Gate gate(fixture.node);
  kit::Gate crash(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Then(Hold(crash), Crash("boom"))}).value();
  fixture.node.Send(pool.pid(), Job{1, Hold(gate)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() + crash.Entered() == 2; }));
  for (int i = 2; i < 10; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  CHECK_FALSE(fixture.node.Send(pool.pid(), Job{99}).has_value());
  auto stats = act::Stats(fixture.node, pool.pid()).value();
  CheckSameAs(pool.Stats(), stats);
  CHECK(stats.unhandled == 1);
  CHECK(stats.queued == 8);
  REQUIRE(stats.workers.size() == 2);
  CHECK(stats.workers[0].pid == workers[0]);
  CHECK(stats.workers[0].queued == 4);
  CHECK(stats.workers[0].state == act::PoolStats::WorkerState::kBusy);
  CHECK(stats.queue_wait_estimate > 0us);

  crash.Open();
  gate.Open();
  REQUIRE(pool.EventuallyHandled(9));
  // Nothing may change between two looks: neither a message being handled nor the crashed worker's successor.
  REQUIRE(Eventually([&] {
    const auto now = act::Stats(fixture.node, pool.pid()).value();
    return now.busy == 0 && now.starting == 0 && now.ready == 2;
  }));
  stats = act::Stats(fixture.node, pool.pid()).value();
  CheckSameAs(pool.Stats(), stats);
  CHECK(stats.forwarded == 10);
  CHECK(stats.handled == 9);
  CHECK(stats.lost_crashed == 1);
  CHECK(stats.forwarded == stats.handled + stats.queued + stats.Lost());
  CHECK(stats.workers[1].state == act::PoolStats::WorkerState::kIdle);
  // In the pool's own handlers.
  const kit::Manage own{[](ManagedPool& self) { return gen::Reply(self.Stats().forwarded); }};
  CHECK(fixture.node.Call<std::uint64_t>(pool.pid(), own, {.priority = gen::MessagePriority::kHigh})
            .value() == 10);
  // Who is no pool says so.
  CHECK(act::Stats(fixture.node, workers[1]).error().code() == gen::ErrorCode::kUnexpectedType);
}

TEST_CASE("Process info: a pool's own mailbox is not taken for those of its workers") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(4, 100);
  const auto info = fixture.node.ProcessInfo(pool.pid()).value();
  CHECK(info.mailbox_size == 0);
  CHECK(info.mailbox == "those of its workers");
  CHECK(fixture.node.Kill(pool.pid()));
  REQUIRE(fixture.EventuallyGone(pool.pid()));
  for (int i = 0; i < 600; ++i) {  // one of them gets its slot, which rests for a while
    const gen::PID pid =
        fixture.node.Spawn(gen::Factory<kit::Worker>(fixture.workers), {.mailbox_size = 3}).value();
    CHECK(fixture.node.ProcessInfo(pid)->mailbox_size == 3);
    CHECK(fixture.node.Kill(pid));
    CHECK(fixture.EventuallyGone(pid));
  }
}

}  // namespace
}  // namespace ergon
