// A trace id travels with messages, requests and answers, and stands in log lines.
#include <algorithm>
#include <string>
#include <vector>

#include <ergon/act/pool.h>
#include <ergon/gen/task.h>
#include <ergon/gen/trace.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

struct Step {
  int number = 0;
};

// Notes which trace it is handled with, and writes a log line.
Handlers NoteTraces(Notes<gen::TraceId>& traces) {
  return {.message =
              [&traces](Subject& self, gen::PID, gen::Message&) {
                traces.Add(self.Trace());
                self.Log().Error("handled");
                return gen::Continue();
              },
          .call =
              [&traces](Subject& self, gen::PID, gen::Ref, gen::Message&) {
                traces.Add(self.Trace());
                return gen::Reply(1);
              },
          .response =
              [&traces](Subject& self, gen::Ref, gen::Response& response) {
                CHECK(response.Take<int>());
                traces.Add(self.Trace());
                return gen::Continue();
              }};
}

using Traces = std::vector<gen::TraceId>;

bool Eventually(const Notes<gen::TraceId>& traces, const Traces& expected) {
  return kit::Eventually([&] { return traces.All() == expected; });
}

TEST_CASE("trace: from message to message, to requests and answers, and no further") {
  Notes<gen::TraceId> traces;
  TestNode t;
  const gen::PID last = t.Spawn(NoteTraces(traces));
  const gen::PID middle = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message&) {
    CHECK(self.Send(last, Step{}));
    CHECK(self.Send(gen::Target(last), Step{}));
    CHECK(self.Call<int>(last, Step{}, kPatient));
    CHECK(self.SendAfter(last, Step{}, 0ns));
    return gen::Continue();
  }});
  CHECK(t.node.SendTraced(middle, Step{}, 7));
  REQUIRE(Eventually(traces, {7, 7, 7, 7}));
  CHECK(t.log.Contains("[trace 0000000000000007]: handled"));
  CHECK(t.node.Send(middle, Step{}));
  REQUIRE(Eventually(traces, {7, 7, 7, 7, 0, 0, 0, 0}));

  // A request without a stack: its answer has the trace id, too.
  Notes<gen::TraceId> answers;
  const gen::PID asks = t.Spawn(NoteTraces(answers));
  CHECK(t.Run(asks, [&](Subject& self) {
    CHECK(self.Trace() == 0);
    self.SetTrace(9);
    CHECK(self.Request(last, Step{}, kPatient));
    self.SetTrace(0);
    CHECK(self.Request(last, Step{}, kPatient));
  }));
  REQUIRE(Eventually(answers, {9, 0}));
  CHECK(t.node.Call<int>(last, Step{}, {.timeout = kit::kDeadline, .trace = 11}));
  CHECK(t.node.Call<int>(last, Step{}, kPatient));
  CHECK(Eventually(traces, {7, 7, 7, 7, 0, 0, 0, 0, 9, 0, 11, 0}));
}

TEST_CASE("trace: one that a handler sets ends with the handler") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [](Subject& self) {
    self.SetTrace(5);
    CHECK(self.Sleep(1ms));
    CHECK(self.Trace() == 5);
  }));
  CHECK(t.Run(pid, [](Subject& self) { CHECK(self.Trace() == 0); }));
  t.Begin(pid, [](Subject& self) { self.SetTrace(6); });
  t.Begin(pid, [](Subject& self) {
    CHECK(self.Trace() == 0);
    self.Log().Error("nothing");
  });
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(!t.log.Contains("[trace"));
}

TEST_CASE("trace: what is spawned, tasks, functions") {
  Notes<gen::TraceId> traces;
  TestNode t;
  const gen::PID parent = t.Spawn();
  CHECK(t.Run(parent, [&](Subject& self) {
    self.SetTrace(3);
    const auto child = self.Spawn(Make({.init =
                                            [&](Subject& started, const gen::Args&) {
                                              traces.Add(started.Trace());
                                              return gen::Continue();
                                            },
                                        .message =
                                            [&](Subject& handles, gen::PID, gen::Message&) {
                                              traces.Add(handles.Trace());
                                              return gen::Continue();
                                            }}))
                           .value();
    CHECK(t.node.Send(child, Step{}));  // the node has none
    auto task = self.Async([] { return 1; });
    CHECK(task->Await(kit::kDeadline));
  }));
  REQUIRE(Eventually(traces, {3, 0}));
  const gen::PID function = t.node
                                .Spawn([&traces](gen::Process& self) {
                                  while (self.Receive<Step>()) traces.Add(self.Trace());
                                })
                                .value();
  CHECK(t.node.SendTraced(function, Step{}, 4));
  CHECK(t.node.Send(function, Step{}));
  CHECK(Eventually(traces, {3, 0, 4, 0}));
}

class Passing : public act::Pool {
 public:
  explicit Passing(act::PoolOptions options) : options_(std::move(options)) {}

 protected:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override { return options_; }

 private:
  act::PoolOptions options_;
};

// A pool that has subscribed to the event of the test.
class Subscribing : public Passing {
 public:
  using Passing::Passing;

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args& args) override {
    CHECK(MonitorEvent({"steps", {}}));
    return Passing::Init(args);
  }
};

TEST_CASE("trace: through pools of every strategy, and forwarded") {
  for (const act::PoolStrategy& strategy :
       {act::PoolStrategy::Rotation(), act::PoolStrategy::SharedQueue(),
        act::PoolStrategy::ByKey<Step>([](const Step& step) { return step.number; }),
        act::PoolStrategy::Broadcast<Step>()}) {
    CAPTURE(strategy.ToString());
    Notes<gen::TraceId> traces;
    TestNode t;
    const gen::PID last = t.Spawn(NoteTraces(traces));
    const Handlers forwards{
        .message =
            [last](Subject& self, gen::PID, gen::Message& message) {
              CHECK(self.Forward(last, message));
              return gen::Continue();
            },
        .call = [last](Subject& self, gen::PID, gen::Ref,
                       gen::Message& request) { return self.Delegate(last, request); }};
    const act::PoolOptions options{
        .pool_size = 1, .worker_factory = Make(forwards), .strategy = strategy};
    const gen::PID pool = t.node.Spawn(gen::Factory<Passing>(options)).value();
    CHECK(t.node.SendTraced(pool, Step{}, 21));
    REQUIRE(Eventually(traces, {21}));
    auto answer = t.node.CallAsync<int>(pool, Step{}, {.timeout = kit::kDeadline, .trace = 22});
    REQUIRE(Eventually(traces, {21, 22}));
    (void)answer.get();  // of a broadcast it has another type
  }
}

TEST_CASE("trace: with the values of events, also with those that are made up for") {
  Notes<gen::TraceId> traces;
  Notes<gen::TraceId> sent_on;
  gen::Ref token;
  gen::PID last;
  TestNode t;
  last = t.Spawn(NoteTraces(sent_on));
  const Handlers subscribes{.event = [&](Subject& self, const gen::MessageEvent&) {
    traces.Add(self.Trace());
    CHECK(self.Send(last, Step{}));
    return gen::Continue();
  }};
  const gen::PID producer = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message&) {
    CHECK(self.SendEvent("steps", token, Step{}).value() == 2);
    return gen::Continue();
  }});
  CHECK(t.Run(producer,
              [&](Subject& self) { token = self.RegisterEvent("steps", {.buffer = 3}).value(); }));
  const gen::PID one = t.Spawn(subscribes);
  const act::PoolOptions options{.pool_size = 1, .worker_factory = Make(subscribes)};
  (void)t.node.Spawn(gen::Factory<Subscribing>(options)).value();
  CHECK(t.Run(one, [](Subject& self) { CHECK(self.MonitorEvent({"steps", {}})); }));
  CHECK(t.node.SendTraced(producer, Step{}, 31));
  REQUIRE(Eventually(traces, {31, 31}));
  REQUIRE(Eventually(sent_on, {31, 31}));
  CHECK(t.node.Send(producer, Step{}));
  REQUIRE(Eventually(traces, {31, 31, 0, 0}));

  // What it has missed comes behind what waits.
  CHECK(t.Run(one, [](Subject& self) { CHECK(self.DemonitorEvent({"steps", {}})); }));
  CHECK(t.Run(producer, [&](Subject& self) {
    self.SetTrace(32);
    CHECK(self.SendEvent("steps", token, Step{}).value() == 1);
  }));
  REQUIRE(Eventually(traces, {31, 31, 0, 0, 32}));
  CHECK(t.Run(one, [&](Subject& self) {
    CHECK(t.node.Send(one, Step{}));
    CHECK(self.MonitorEvent({"steps", {}}).value().empty());
  }));
  CHECK(Eventually(traces, {31, 31, 0, 0, 32, 32}));
  const gen::PID late = t.Spawn(subscribes);
  CHECK(t.Run(late, [](Subject& self) {  // nothing waits: they are returned
    const auto missed = self.MonitorEvent({"steps", {}}).value();
    REQUIRE(missed.size() == 3);
    CHECK(missed[0].Trace() == 31);
    CHECK(missed[1].Trace() == 0);
    CHECK(missed[2].Trace() == 32);
  }));
}

TEST_CASE("trace: every tick has the one with which its timer was begun") {
  for (const act::PoolStrategy& strategy :
       {act::PoolStrategy::Rotation(), act::PoolStrategy::Broadcast<Step>()}) {
    CAPTURE(strategy.ToString());
    Notes<gen::TraceId> traces;
    TestNode t;
    const act::PoolOptions options{
        .pool_size = 1, .worker_factory = Make(NoteTraces(traces)), .strategy = strategy};
    const gen::PID pool = t.node.SpawnRegister("ticked", gen::Factory<Passing>(options)).value();
    const gen::PID begins = t.Spawn();
    gen::TimerHandle traced;
    CHECK(t.Run(begins, [&](Subject& self) {
      self.SetTrace(41);
      traced = self.SendEvery(gen::Atom("ticked"), Step{}, 1ms).value();
      self.SetTrace(42);
    }));
    CHECK(kit::Eventually([&] { return traces.size() >= 3; }));
    CHECK(traced.Cancel());
    const Traces of_ticks = traces.All();
    CHECK(std::all_of(of_ticks.begin(), of_ticks.end(),
                      [](gen::TraceId trace) { return trace == 41; }));
    // Cancelled, it has no tick any more: what comes now is the other's.
    const auto plain = t.node.SendEvery(pool, Step{}, 1ms).value();
    CHECK(kit::Eventually([&] { return traces.All().back() == 0; }));
    CHECK(plain.Cancel());
  }
}

TEST_CASE("trace: with an exit signal, and with what a full mailbox gives away") {
  Notes<gen::TraceId> traces;
  TestNode t;
  const gen::PID traps = t.Spawn(NoteTraces(traces));
  CHECK(t.Run(traps, [](Subject& self) { self.SetTrapExit(true); }));
  const gen::PID sends = t.Spawn();
  CHECK(t.Run(sends, [&](Subject& self) {
    self.SetTrace(51);
    CHECK(self.SendExit(traps, gen::Reason::Error("enough")));
    self.SetTrace(0);
    CHECK(self.SendExit(traps, gen::Reason::Error("enough")));
  }));
  REQUIRE(Eventually(traces, {51, 0}));

  t.node.SpawnRegister("spare", Make(NoteTraces(traces))).value();
  const gen::PID full =
      t.Spawn({}, {.mailbox_size = 1, .fallback = {.name = "spare", .tag = "full"}});
  CHECK(t.node.Suspend(full));
  CHECK(t.node.SendTraced(full, Step{}, 52));
  CHECK(t.node.SendTraced(full, Step{}, 53));
  REQUIRE(Eventually(traces, {51, 0, 53}));
  gen::TimerHandle ticks;
  CHECK(t.Run(sends, [&](Subject& self) {
    self.SetTrace(54);
    ticks = self.SendEvery(full, Step{}, 1ms).value();
  }));
  CHECK(kit::Eventually([&] { return traces.size() >= 4; }));
  CHECK(ticks.Cancel());
  CHECK(traces.All()[3] == 54);
  CHECK(t.node.Resume(full));
  // It is full until it has taken what waits.
  CHECK(kit::Eventually([&] { return t.Run(full, [](Subject&) {}).has_value(); }));
}

TEST_CASE("trace: ids") {
  CHECK(gen::TraceText(255) == "00000000000000ff");
  CHECK(gen::NewTraceId() != gen::NewTraceId());
  CHECK(gen::NewTraceId() != 0);
}

}  // namespace
}  // namespace ergon::node
