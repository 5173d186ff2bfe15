// Inspections of processes of another Ergon node.
#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include <ergon/act/pool.h>
#include <ergon/gen/blocking.h>

#include <cluster/cluster.h>
#include <kit/gate.h>

namespace ergon::dist {
namespace {

// Tells what it is asked for; a line keeps it busy until a gate is open, an atom ends it.
class Told : public act::Actor {
 public:
  explicit Told(gen::PID gate) : gate_(gate) {}

 private:
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>& items) override {
    gen::Inspection told{{"lines", std::to_string(lines_)}, {"bytes", std::string("\0\xff", 2)}};
    for (const std::string& item : items) told["asked:" + item] = "yes";
    return told;
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<gen::Atom>()) return gen::Stop(gen::Reason::Error("asked_to"));
    Wait();
    ++lines_;
    return gen::Continue();
  }
  virtual void Wait() { (void)Call<bool>(gate_, kit::EnterGate{}, {.timeout = gen::kInfinite}); }

  const gen::PID gate_;
  int lines_ = 0;
};

// While it is busy with a line it tells nothing.
class Busy : public Told {
 public:
  explicit Busy(std::function<void()> enter) : Told(gen::PID()), enter_(std::move(enter)) {}

 private:
  void Wait() override {
    const gen::Blocking blocking;  // the node goes on, with one processor, too
    enter_();
  }
  const std::function<void()> enter_;
};

class ToldPool : public act::Pool {
 public:
  explicit ToldPool(gen::PID gate) : gate_(gate) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 3, .worker_factory = gen::Factory<Told>(gate_)};
  }
  const gen::PID gate_;
};

}  // namespace

TEST_CASE("inspect: a process of another node tells the same as to its own") {
  Cluster cluster("inspect");
  kit::Gate gate(cluster.b);
  const gen::PID pid = cluster.b.SpawnRegister("told", gen::Factory<Told>(gate.pid())).value();
  const auto here = cluster.b.Inspect(pid).value();
  CHECK(here.at("bytes") == std::string("\0\xff", 2));
  CHECK(cluster.a.Inspect(pid).value() == here);
  CHECK(cluster.a.Inspect(cluster.OnB("told")).value() == here);
  CHECK(cluster.a.Inspect(pid, {"lines", "asked"}).value() ==
        cluster.b.Inspect(pid, {"lines", "asked"}).value());
  InProcess(cluster.a, [&](gen::Process& self) { CHECK(self.Inspect(pid).value() == here); });
  const gen::PID pool = cluster.b.Spawn(gen::Factory<ToldPool>(gate.pid())).value();
  CHECK(cluster.a.Inspect(pool).value() == cluster.b.Inspect(pool).value());
  gate.Open();
}

TEST_CASE("inspect: it is answered before what waits, and by who is busy when that is done") {
  Cluster cluster("inspect_first");
  kit::ThreadGate gate;
  const gen::PID pid = cluster.b.Spawn(gen::Factory<Busy>(gate.Holder())).value();
  constexpr int kLines = 50;
  for (int i = 0; i < kLines; ++i) CHECK(cluster.a.Send(pid, Line{i, {}}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  const auto late = cluster.a.Inspect(pid, {}, {.timeout = 20ms});
  CHECK(late.error() == gen::ErrTimeout);
  std::atomic<bool> told{false};
  std::string lines;
  const auto asks = cluster.a.Spawn([&](gen::Process& self) {
    lines = self.Inspect(pid, {}, {.timeout = 1min}).value().at("lines");
    told = true;
  });
  REQUIRE(asks);
  REQUIRE(kit::Eventually(
      [&] { return cluster.a.ProcessInfo(*asks)->state == gen::ProcessState::kWaiting; }));
  CHECK(Ping(cluster.a, cluster.b.Name()));  // goes behind the question
  gate.Open();
  CHECK(kit::Eventually([&] { return told.load(); }));
  CHECK(lines == "1");
}

TEST_CASE("inspect: what a pool of another node does, in numbers") {
  kit::LogCapture log;
  gen::NodeOptions both;
  both.types.Register<act::PoolStats>();
  node::Node here = TryStart("stats_a@127.0.0.1", log, ClusterOptions(), both).value();
  node::Node there = TryStart("stats_b@127.0.0.1", log, ClusterOptions(), both).value();
  node::Node other = TryStart("stats_c@127.0.0.1", log).value();  // does not know the type
  kit::Gate gate(there);
  const gen::PID pool = there.Spawn(gen::Factory<ToldPool>(gate.pid())).value();
  for (int i = 0; i < 10; ++i) CHECK(here.Send(pool, Line{i, {}}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 3; }));
  const auto stats = act::Stats(here, pool);
  REQUIRE_MESSAGE(stats, stats.error().ToString());
  const auto own = act::Stats(there, pool).value();
  CHECK(stats->worker_behavior == own.worker_behavior);
  CHECK(stats->forwarded == 10);
  CHECK(stats->busy == 3);
  CHECK(stats->queued == own.queued);
  REQUIRE(stats->workers.size() == 3);
  CHECK(stats->workers[2].pid == own.workers[2].pid);
  CHECK(stats->workers[2].state == act::PoolStats::WorkerState::kBusy);
  CHECK(stats->Lost() == 0);
  InProcess(here, [&](gen::Process& self) { CHECK(act::Stats(self, pool)->size == 3); });
  // One that is no pool, and nodes that do not know the type.
  CHECK(act::Stats(here, gate.pid()).error() == gen::ErrUnexpectedType);
  CHECK(act::Stats(other, pool).error() == gen::ErrUnsupported);
  const gen::PID unknown = other.Spawn(gen::Factory<ToldPool>(gate.pid())).value();
  const auto not_there = act::Stats(here, unknown);
  CHECK(not_there.error() == gen::ErrUnsupported);
  CHECK(not_there.error().ToString().find("stats_c@127.0.0.1") != std::string::npos);
  gate.Open();
}

TEST_CASE("inspect: nobody, an end, and a lost connection are errors") {
  Cluster cluster("inspect_end");
  kit::ThreadGate gate;
  const gen::PID ended = cluster.b.Spawn([](gen::Process&) {}).value();
  REQUIRE(cluster.b.WaitProcess(ended));
  CHECK(cluster.a.Inspect(ended).error() == gen::ErrProcessTerminated);
  CHECK(cluster.a.Inspect(cluster.OnB("nobody")).error() == gen::ErrProcessUnknown);
  gen::PID former = ended;
  ++former.creation;
  CHECK(cluster.a.Inspect(former).error() == gen::ErrProcessIncarnation);
  const auto typed = cluster.a.InspectAs<act::PoolStats>(ended);
  CHECK(typed.error() == gen::ErrUnsupported);
  CHECK(typed.error().ToString().find("Register<ergon::act::PoolStats>") != std::string::npos);
  // One that is busy for ever.
  const gen::PID busy = cluster.b.Spawn(gen::Factory<Busy>(gate.Holder())).value();
  CHECK(cluster.a.Send(busy, Line{}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  std::atomic<bool> lost{false};
  (void)cluster.a
      .Spawn([&](gen::Process& self) {
        const auto told = self.Inspect(busy, {}, {.timeout = 1min});
        lost = !told && told.error() == gen::ErrNoConnection;
      })
      .value();
  const auto asked = [&] { return Disconnect(cluster.a, cluster.b.Name()) && false; };
  CHECK(kit::Eventually([&] { return asked() || lost; }));
  std::atomic<bool> killed{false};
  (void)cluster.a
      .Spawn([&](gen::Process& self) {
        const auto told = self.Inspect(busy, {}, {.timeout = 1min});
        killed = !told && told.error() == gen::ErrProcessTerminated;
      })
      .value();
  CHECK(Ping(cluster.a, cluster.b.Name()));
  CHECK(cluster.b.SendExit(busy, gen::Reason::Kill()));
  gate.Open();
  CHECK(kit::Eventually([&] { return killed.load(); }));
}

}  // namespace ergon::dist
