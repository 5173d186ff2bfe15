// NodeOptions::measure_latency: each call and each message of a handler is counted once, in the right place.
#include <atomic>
#include <cstdint>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/metrics/latency.h>
#include <ergon/node/runtime/runtime.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <node/observer/numbers/metrics_reader.h>
#include <node/observer/observed.h>
#include <node/subject.h>

namespace ergon::node::latency_test {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

static Latency& LatencyOf(Node& node) {
  Latency* const latency = RuntimeOf(node, "test").latency();
  REQUIRE(latency != nullptr);
  return *latency;
}
static std::uint64_t Handled(Node& node, const std::string& behavior) {
  return LatencyOf(node).Of(behavior).handling.View().count;
}
static std::uint64_t CallsOf(Node& node, const std::string& behavior) {
  return LatencyOf(node).Of(behavior).calls.View().count;
}
static std::uint64_t CallsElsewhere(Node& node) {
  return LatencyOf(node).calls_elsewhere().View().count;
}
// In all.
static std::uint64_t Calls(Node& node) {
  std::uint64_t calls = CallsElsewhere(node);
  for (const auto& [behavior, times] : LatencyOf(node).Behaviors())
    calls += times.calls.View().count;
  return calls;
}

constexpr const char* kSubject = "ergon::node::Subject";

static gen::HistogramView Waited(Node& node) { return LatencyOf(node).Of(kSubject).waiting.View(); }

// A subject whose handler has begun with something and holds its thread until the gate opens.
static gen::PID SpawnHeld(TestNode& t, const kit::ThreadGate& gate, Handlers handlers) {
  const gen::PID pid = t.Spawn(std::move(handlers));
  t.Begin(pid, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  return pid;
}

TEST_CASE("latency: each message counts once, also the last one of a turn and of a process") {
  TestNode t({.measure_latency = true});
  const Handlers takes_all{
      .message = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); }};
  const gen::PID one = t.Spawn(takes_all);
  const gen::PID two = t.Spawn(takes_all);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(t.node.Send(one, i));
    REQUIRE(t.node.Send(two, i));
  }
  CHECK(kit::Eventually([&] { return Handled(t.node, kSubject) == 200; }));
  // What is no message is not counted.
  CHECK(t.node.Inspect(one));
  CHECK(t.node.Suspend(one));
  CHECK(t.node.Resume(one));
  CHECK_FALSE(t.Run(one, [](Subject&) { throw std::runtime_error("broken"); }));
  REQUIRE(t.node.WaitProcess(one, kit::kDeadline));
  CHECK(Handled(t.node, kSubject) == 201);
  REQUIRE(t.node.StopProcess(two, kit::kDeadline));
  CHECK(Handled(t.node, kSubject) == 201);
}

TEST_CASE("latency: a handler that waits is counted with its wait, when it is done") {
  TestNode t({.measure_latency = true});
  kit::Gate gate(t.node);
  const gen::PID pid = t.Spawn();
  t.Begin(pid, [to = gate.pid()](Subject& self) {
    (void)self.Call<bool>(to, kit::EnterGate{}, kPatient);
  });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(Handled(t.node, kSubject) == 0);
  CHECK(Calls(t.node) == 0);
  gate.Open();
  CHECK(kit::Eventually([&] { return Handled(t.node, kSubject) == 1; }));
  CHECK(Calls(t.node) == 1);
}

TEST_CASE("latency: a function has handled a message when it waits for the next one") {
  TestNode t({.measure_latency = true});
  const gen::PID pid = t.node
                           .Spawn([](gen::Process& self) {
                             while (self.Receive<int>()) {
                             }
                           })
                           .value();
  const auto handled = [&] {
    std::uint64_t count = 0;
    for (const auto& [behavior, times] : LatencyOf(t.node).Behaviors())
      count += times.handling.View().count;
    return count;
  };
  for (std::uint64_t i = 1; i <= 3; ++i) {
    REQUIRE(t.node.Send(pid, 1));
    CHECK(kit::Eventually([&] { return handled() == i; }));
  }
}

TEST_CASE(
    "latency: calls count with their answer, with a time-out and with the end of the callee") {
  TestNode t({.measure_latency = true});
  const gen::PID caller = t.Spawn();
  const gen::PID silent =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::NoReply(); }});
  const gen::PID dies =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) -> gen::CallResult {
        throw std::runtime_error("broken");
      }});
  const gen::PID answers =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(7); }});
  REQUIRE(t.Run(caller, [&](Subject& self) {
    const std::uint64_t before = Calls(t.node);
    CHECK(self.Call<int>(answers, 1).value() == 7);
    CHECK(Calls(t.node) == before + 1);
    CHECK(self.Call<int>(silent, 1, {.timeout = 1ms}).error() == gen::ErrTimeout);
    CHECK(Calls(t.node) == before + 2);
    CHECK_FALSE(self.Call<int>(dies, 1));
    CHECK(Calls(t.node) == before + 3);
    CHECK(self.Sleep(1us));  // another wait
    CHECK(Calls(t.node) == before + 3);
  }));
  // One inside of an Init.
  const gen::PID late = t.Spawn({.init = [&](Subject& self, const gen::Args&) {
    CHECK(self.Call<int>(answers, 1).value() == 7);
    return gen::Continue();
  }});
  CHECK(Calls(t.node) == 4);
  CHECK(bool(late));
}

TEST_CASE("latency: a call is told by the behaviour of the one who was called") {
  class Answers : public act::Actor {
    gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override { return gen::Reply(7); }
  };
  class OneAnswers : public act::Pool {
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{.pool_size = 1, .worker_factory = gen::Factory<Answers>()};
    }
  };
  TestNode t({.measure_latency = true});
  const gen::PID caller = t.Spawn();
  const gen::PID callee = t.node.Spawn(gen::Factory<Answers>()).value();
  const gen::PID pool = t.node.Spawn(gen::Factory<OneAnswers>()).value();
  const std::string answers = gen::BehaviorNameOf(Answers());
  REQUIRE(answers != kSubject);
  REQUIRE(t.Run(caller, [&](Subject& self) {
    for (int i = 0; i < 3; ++i) CHECK(self.Call<int>(callee, i, kPatient).value() == 7);
  }));
  CHECK(CallsOf(t.node, answers) == 3);
  // That of the pool, whoever answers.
  REQUIRE(
      t.Run(caller, [&](Subject& self) { CHECK(self.Call<int>(pool, 1, kPatient).value() == 7); }));
  CHECK(CallsOf(t.node, gen::BehaviorNameOf(OneAnswers())) == 1);
  CHECK(CallsOf(t.node, answers) == 3);
  // Also if the callee has ended when the error comes.
  const gen::PID dies =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) -> gen::CallResult {
        throw std::runtime_error("broken");
      }});
  REQUIRE(t.Run(caller, [&](Subject& self) { CHECK_FALSE(self.Call<int>(dies, 1, kPatient)); }));
  CHECK(CallsOf(t.node, kSubject) == 1);
  REQUIRE(t.node.WaitProcess(dies, kit::kDeadline));  // such a call cannot be sent
  REQUIRE(t.Run(caller, [&](Subject& self) { CHECK_FALSE(self.Call<int>(dies, 1, kPatient)); }));
  CHECK(Calls(t.node) == 5);
  CHECK(CallsElsewhere(t.node) == 0);
}

TEST_CASE(
    "latency: a message waits from its sending until its handler begins; stashed it counts once") {
  const kit::ManualTime time;
  kit::ThreadGate gate;
  std::atomic<int> handled{0};
  TestNode t(time.Into({.measure_latency = true}));
  time.Pass(1s);  // 0 is no time
  const auto stashes_first = [&](Subject& self, gen::PID, gen::Message& message) {
    if (handled.fetch_add(1) == 0) {
      CHECK(self.Stash(message));
    } else {
      (void)self.UnstashAll();
    }
    return gen::Continue();
  };
  const gen::PID receiver = SpawnHeld(t, gate, {.message = stashes_first});
  const gen::PID sender = t.Spawn();
  const auto send = [&](int number) {
    CHECK(t.Run(sender, [&](Subject& self) { CHECK(self.Send(receiver, Ask{number})); }));
  };
  send(1);
  time.Pass(2s);
  send(2);
  // It has no room for a time.
  CHECK(t.Run(sender, [&](Subject& self) { CHECK(self.SendTraced(receiver, Ask{3}, 7)); }));
  time.Pass(1s);
  const gen::HistogramView before = Waited(t.node);  // of what the test itself has sent
  CHECK(before.sum == 0);
  gate.Open();
  REQUIRE(kit::Eventually([&] { return handled == 4; }));
  CHECK(Waited(t.node).count == before.count + 2);
  CHECK(Waited(t.node).sum == 4);
}

TEST_CASE("latency: what threads, timers and events send waits, too") {
  const kit::ManualTime time;
  kit::ThreadGate gate;
  std::atomic<int> handled{0};
  TestNode t(time.Into({.measure_latency = true}));
  time.Pass(1s);  // 0 is no time
  const Handlers counts{.message =
                            [&](Subject&, gen::PID, gen::Message&) {
                              ++handled;
                              return gen::Continue();
                            },
                        .call =
                            [&](Subject&, gen::PID, gen::Ref, gen::Message&) {
                              ++handled;
                              return gen::Reply(7);
                            },
                        .event =
                            [&](Subject&, const gen::MessageEvent&) {
                              ++handled;
                              return gen::Continue();
                            }};
  const gen::PID receiver = t.Spawn(counts);
  gen::Ref token;
  const gen::PID producer = t.Spawn();
  REQUIRE(t.Run(producer, [&](Subject& self) { token = self.RegisterEvent("prices").value(); }));
  REQUIRE(t.Run(receiver, [&](Subject& self) { CHECK(self.MonitorEvent({"prices", {}})); }));
  REQUIRE(t.node.JoinGroup("readers", receiver));
  t.Begin(receiver, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));

  REQUIRE(t.node.SendAfter(receiver, Ask{1}, 2s));
  REQUIRE(t.node.SendEvery(receiver, Ask{2}, 2s));  // has no room for a time
  time.Pass(2s);
  CHECK(t.node.Send(receiver, Ask{3}));
  CHECK(t.node.SendOrWait(receiver, Ask{4}, 1s));
  CHECK(t.node.SendToGroup("readers", Ask{5}).value() == 1);
  REQUIRE(t.Run(producer,
                [&](Subject& self) { CHECK(self.SendEvent("prices", token, 1).value() == 1); }));
  auto answer = t.node.CallAsync<int>(receiver, 6, {.timeout = gen::kInfinite});
  const gen::HistogramView before = Waited(t.node);
  CHECK(before.sum == 0);
  time.Pass(1s);
  gate.Open();
  REQUIRE(kit::Eventually([&] { return handled == 7; }));
  CHECK(answer.get().value() == 7);
  CHECK(Waited(t.node).count == before.count + 6);
  CHECK(Waited(t.node).sum == 6);
}

TEST_CASE("latency: a call waits until the callee begins with it") {
  const kit::ManualTime time;
  kit::ThreadGate gate;
  TestNode t(time.Into({.measure_latency = true}));
  time.Pass(1s);  // 0 is no time
  const gen::PID callee = SpawnHeld(
      t, gate, {.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(7); }});
  const gen::PID caller = t.Spawn();
  t.Begin(caller, [&](Subject& self) { CHECK(self.Call<int>(callee, 1, kPatient).value() == 7); });
  REQUIRE(t.EventuallyWaiting(caller));
  time.Pass(2s);
  gate.Open();
  REQUIRE(kit::Eventually([&] { return Calls(t.node) == 1; }));
  CHECK(Waited(t.node).count == 3);  // with what the test itself has sent
  CHECK(Waited(t.node).sum == 2);
}

TEST_CASE("latency: through a pool with one queue a message waits until a worker begins with it") {
  class OneWorker : public act::Pool {
   public:
    explicit OneWorker(Handlers handlers) : handlers_(std::move(handlers)) {}

   private:
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{.pool_size = 1,
                              .worker_factory = Make(handlers_),
                              .strategy = act::PoolStrategy::SharedQueue()};
    }
    const Handlers handlers_;
  };
  const kit::ManualTime time;
  kit::ThreadGate gate;
  TestNode t(time.Into({.measure_latency = true}));
  time.Pass(1s);  // 0 is no time
  const Handlers holds{
      .message =
          [hold = gate.Holder()](Subject&, gen::PID, gen::Message&) {
            hold();
            return gen::Continue();
          },
      .call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(7); }};
  const gen::PID pool = t.node.Spawn(gen::Factory<OneWorker>(holds)).value();
  const gen::PID sender = t.Spawn();
  t.Begin(sender, [&](Subject& self) {
    CHECK(self.Send(pool, Ask{1}));
    CHECK(self.Send(pool, Ask{2}));
    CHECK(self.Call<int>(pool, 3, kPatient).value() == 7);
  });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  REQUIRE(t.EventuallyWaiting(sender));
  time.Pass(5s);
  gate.Open();
  // With the test's own. A histogram is read in two steps.
  REQUIRE(kit::Eventually([&] { return Waited(t.node).count == 4 && Waited(t.node).sum == 10; }));
}

TEST_CASE("latency: nothing is measured by default") {
  TestNode t;
  CHECK(RuntimeOf(t.node, "test").latency() == nullptr);
}

TEST_CASE("latency: of very many behaviours some have a place of their own") {
  Latency latency;
  for (std::size_t i = 0; i < Latency::kMostBehaviors + 5; ++i) {
    latency.Of("behavior" + std::to_string(i)).handling.Observe(1);
  }
  const auto all = latency.Behaviors();
  CHECK(all.size() == Latency::kMostBehaviors + 1);
  CHECK(all.at("(other)").handling.View().count == 5);
  CHECK(all.at("behavior0").handling.View().count == 1);
}

TEST_CASE("latency: an observer tells it as histograms, or nothing of it") {
  using observer_test::MetricsReader;
  using observer_test::Observed;
  {
    Observed t({.metrics_period = 0ns});
    CHECK(t.Get("/metrics").body.find("ergon_call_seconds") == std::string::npos);
  }
  Observed t({.metrics_period = 0ns}, {.measure_latency = true});
  const gen::PID worker = t.node.Spawn(gen::Factory<kit::Worker>(t.workers)).value();
  for (int i = 0; i < 3; ++i) REQUIRE(t.node.Send(worker, kit::Job{i}));
  REQUIRE(kit::Eventually([&] { return Handled(t.node, "ergon::kit::Worker") == 3; }));
  (void)t.Get("/metrics");  // a call to the collector
  const MetricsReader metrics(t.Get("/metrics").body);
  CHECK(metrics["ergon_handling_seconds_count{behavior=\"ergon::kit::Worker\"}"] == 3);
  CHECK(metrics["ergon_handling_seconds_bucket{behavior=\"ergon::kit::Worker\",le=\"+Inf\"}"] == 3);
  CHECK(metrics["ergon_handling_seconds_sum{behavior=\"ergon::kit::Worker\"}"] > 0);
  CHECK(metrics["ergon_queue_wait_seconds_count{behavior=\"ergon::kit::Worker\"}"] == 3);
  // Of the observer itself, which has asked for its numbers before.
  const std::string collector = "behavior=\"ergon::node::Collector\"";
  CHECK(metrics["ergon_call_seconds_count{" + collector + "}"] > 0);
  CHECK(metrics["ergon_call_seconds_count{" + collector + "}"] ==
        metrics["ergon_call_seconds_bucket{" + collector + ",le=\"+Inf\"}"]);
  // Nobody has called these.
  const std::string text = t.Get("/metrics").body;
  CHECK(text.find("ergon_call_seconds_count{behavior=\"ergon::kit::Worker\"}") ==
        std::string::npos);
  CHECK(text.find("ergon_call_seconds_count{behavior=\"(other node)\"}") == std::string::npos);
}

}  // namespace ergon::node::latency_test
