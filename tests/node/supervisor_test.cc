// act::Supervisor on a node: what its children and callers see.
#include <ergon/act/supervisor.h>

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <kit/supervisor.h>

#include "subject.h"

namespace ergon::node {
namespace {

using act::SupervisorAutoShutdown;
using act::SupervisorChildSpec;
using act::SupervisorChildState;
using act::SupervisorSpec;
using act::SupervisorStrategy;
using act::SupervisorType;
using kit::ChildOf;
using kit::ChildrenOf;
using kit::Diary;
using kit::Eventually;
using kit::EventuallyNew;
using kit::MakeSupervisor;
using kit::ManageChildren;
using kit::SpecSupervisor;
using Lines = std::vector<std::string>;

// Children a, b, c, ... that do nothing.
std::vector<SupervisorChildSpec> Children(int count, const Handlers& handlers = {}) {
  std::vector<SupervisorChildSpec> children;
  for (int i = 0; i < count; ++i) {
    children.push_back(
        {.name = std::string(1, static_cast<char>('a' + i)), .factory = Make(handlers)});
  }
  return children;
}

struct Supervised : TestNode {
  using TestNode::TestNode;

  gen::PID Start(SupervisorSpec spec) {
    return node.Spawn(MakeSupervisor(std::move(spec), &diary)).value();
  }
  gen::PID Child(gen::Atom name) { return node.Resolve(name).value_or(gen::PID()); }
  // Ends a child and waits for it.
  void EndChild(gen::PID pid, gen::Reason reason) {
    node.Send(pid, End{std::move(reason)}).value();
    REQUIRE(Ended(pid));
  }
  bool EventuallyLines(const Lines& lines) {
    return Eventually([&] { return diary.Lines() == lines; });
  }
  template <class R, class T>
  gen::Result<R> Ask(gen::PID supervisor, T request) {
    return node.Call<R>(supervisor, std::move(request),
                        {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kHigh});
  }
  void In(gen::PID supervisor, std::function<void(SpecSupervisor&)> function) {
    REQUIRE(node.Call<bool>(supervisor, ManageChildren{std::move(function)},
                            {.timeout = kit::kDeadline}));
  }

  Diary diary;  // used by supervisors until `node` has stopped: see ~Supervised
  ~Supervised() { node.Stop(); }
};

const gen::Reason kFailure = gen::Reason::Error("failure");

TEST_CASE("supervisor: the log says who is restarted, how often that was, and who with it") {
  struct Row {
    SupervisorType type;
    std::string others;
  };
  for (const Row& row : {Row{SupervisorType::kOneForOne, ""},
                         Row{SupervisorType::kRestForOne, ", and after it 'c', 'd'"},
                         Row{SupervisorType::kAllForOne, ", and with it 'a', 'c', 'd'"}}) {
    Supervised test;
    SupervisorSpec spec;
    spec.type = row.type;
    spec.restart = {.intensity = 2, .period_s = 1000};
    spec.children = Children(4);
    const gen::PID supervisor = test.Start(spec);
    const auto again = [&](gen::PID last_b, gen::PID last_d) {
      REQUIRE(EventuallyNew(test.node, supervisor, "b", last_b));
      if (!row.others.empty()) REQUIRE(EventuallyNew(test.node, supervisor, "d", last_d));
    };
    gen::PID last = test.Child("d");
    const gen::PID first = test.Child("b");
    test.EndChild(first, kFailure);
    again(first, last);
    CHECK(test.log.Contains("restarting 'b' (1 of 2 in 1000 s)" + row.others + ": " +
                            first.ToString() + " has ended: failure"));
    // One that is done is no failure, but started again all the same.
    last = test.Child("d");
    const gen::PID second = test.Child("b");
    test.EndChild(second, gen::Reason::Normal());
    again(second, last);
    CHECK(test.log.Contains("restarting 'b' (2 of 2 in 1000 s)" + row.others + ": " +
                            second.ToString() + " has ended: normal"));
    const gen::PID third = test.Child("b");
    test.EndChild(third, kFailure);
    CHECK(Eventually([&] { return test.log.Contains("gives up: "); }));
    CHECK(test.log.Contains("child 'b' " + third.ToString() + " has ended: failure"));
  }
}

// -- start --

TEST_CASE("supervisor: children start in order, linked, under their names") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(3)});
  CHECK(test.diary.Lines() == Lines{"start a", "start b", "start c"});
  const auto children = ChildrenOf(test.node, supervisor);
  REQUIRE(children.size() == 3);
  for (const auto& child : children) {
    CHECK(child.pid == test.Child(child.name));
    CHECK(child.state == SupervisorChildState::kRunning);
    CHECK(test.node.ProcessInfo(child.pid).value().parent == supervisor);
  }
}

TEST_CASE("supervisor: a child starts when the Init of the one before is done, not earlier") {
  Supervised test;
  kit::Gate gate(test.node);
  auto children = Children(2);
  children[0].factory = Make({.init = [&gate](Subject& self, const gen::Args&) {
    CHECK(self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite}));
    return gen::Continue();
  }});
  std::thread starting([&] { test.Start({.children = children}); });
  CHECK(Eventually([&] { return gate.Entered() == 1; }));
  CHECK(test.Child("a"));
  CHECK_FALSE(test.Child("b"));
  gate.Open();
  starting.join();
  CHECK(test.Child("b"));
  CHECK(test.diary.Lines() == Lines{"start a", "start b"});
}

TEST_CASE("supervisor: a child that fails to start makes the start fail, in reverse order") {
  Notes<std::string> ended;
  Supervised test;
  auto children = Children(3, {.init = [](Subject& self, const gen::Args&) -> gen::Status {
                                 if (self.Name() == gen::Atom("c"))
                                   return gen::Stop(gen::Reason::Error("no"));
                                 return gen::Continue();
                               },
                               .terminate =
                                   [&](Subject& self, const gen::Reason& reason) {
                                     ended.Add(self.Name().ToString() + " " + reason.ToString());
                                   }});
  const auto started = test.node.Spawn(MakeSupervisor({.children = children}));
  REQUIRE_FALSE(started);
  CHECK(started.error().detail() == "child 'c': no");
  CHECK(ended.All() == Lines{"b shutdown", "a shutdown"});
  CHECK(test.EventuallyProcesses(0));
  CHECK_FALSE(test.Child("a"));
}

TEST_CASE("supervisor: a failing start kills those that do not end in time") {
  Supervised test;
  auto children = Children(2);
  children[0].factory = Make({.terminate = [](Subject& self, const gen::Reason&) {
    (void)self.Sleep(1h);  // a kill ends it
  }});
  children[0].shutdown_timeout = 10ms;
  children[1].factory = Make(
      {.init = [](Subject&, const gen::Args&) -> gen::Status { throw std::runtime_error("no"); }});
  const auto started = test.node.Spawn(MakeSupervisor({.children = children}));
  REQUIRE_FALSE(started);
  CHECK(started.error().detail() == "child 'b': panic: no");
  CHECK(test.EventuallyProcesses(0));
}

TEST_CASE("supervisor: an incorrect spec makes the start fail") {
  Supervised test;
  const auto started = test.node.Spawn(MakeSupervisor({.restart = {.intensity = -1}}));
  REQUIRE_FALSE(started);
  CHECK(started.error().detail() == "restart.intensity: -1 is outside 0..1000000");
}

// -- one for one --

TEST_CASE("supervisor: one for one restarts who fails, and only that") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(2)});
  const gen::PID a = test.Child("a");
  const gen::PID b = test.Child("b");
  test.diary.Take();
  test.EndChild(a, kFailure);
  const gen::PID again = EventuallyNew(test.node, supervisor, "a", a);
  REQUIRE(again);
  CHECK(test.Child("a") == again);
  CHECK(test.Child("b") == b);
  CHECK(test.diary.Lines() == Lines{"end a: failure", "start a"});
  CHECK(ChildrenOf(test.node, supervisor)[0].restarts == 1);
}

TEST_CASE("supervisor: strategies decide by the reason, each child may have its own") {
  Supervised test;
  auto children = Children(3);
  children[1].strategy = SupervisorStrategy::kTransient;
  children[2].strategy = SupervisorStrategy::kTemporary;
  const gen::PID supervisor = test.Start({.children = children});
  const gen::PID a = test.Child("a");
  const gen::PID b = test.Child("b");
  const gen::PID c = test.Child("c");

  test.EndChild(a, gen::Reason::Normal());  // permanent: again
  CHECK(EventuallyNew(test.node, supervisor, "a", a));
  test.EndChild(b, kFailure);  // transient: again after a failure
  const gen::PID b2 = EventuallyNew(test.node, supervisor, "b", b);
  REQUIRE(b2);
  test.EndChild(b2, gen::Reason::Shutdown());
  test.EndChild(c, kFailure);  // temporary: never
  CHECK(Eventually([&] {
    const auto now = ChildrenOf(test.node, supervisor);
    return now[1].state == SupervisorChildState::kEnded &&
           now[2].state == SupervisorChildState::kEnded;
  }));
  CHECK_FALSE(test.Child("b"));
  CHECK(test.IsAlive(supervisor));
}

TEST_CASE("supervisor: a child that cuts the link is restarted, too") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(1)});
  const gen::PID a = test.Child("a");
  REQUIRE(test.Run(a, [](Subject& self) { CHECK(self.Unlink(self.Parent())); }));
  test.EndChild(a, kFailure);
  CHECK(EventuallyNew(test.node, supervisor, "a", a));
  CHECK(test.diary.Lines() == Lines{"start a", "end a: failure", "start a"});
}

TEST_CASE("supervisor: an exit signal that a child sends is not its end") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(1)});
  const gen::PID a = test.Child("a");
  test.In(supervisor, [](SpecSupervisor& self) { self.SetTrapExit(true); });
  REQUIRE(test.Run(a, [](Subject& self) { CHECK(self.SendExit(self.Parent(), kFailure)); }));
  CHECK(test.EventuallyLines({"start a", "exit: failure"}));
  CHECK(test.Child("a") == a);
}

TEST_CASE("supervisor: exit signals of others end it, unless it traps them") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(1)});
  const gen::PID other = test.Spawn();
  REQUIRE(test.Run(other, [&](Subject& self) { CHECK(self.SendExit(supervisor, kFailure)); }));
  CHECK(test.Ended(supervisor));
  CHECK(test.diary.Lines() == Lines{"start a", "end a: shutdown", "terminate: failure"});
}

TEST_CASE(
    "supervisor: an exit signal of another ends what its own handler waits for, a child's does "
    "not") {
  Supervised test;
  kit::Gate gate(test.node);
  const gen::PID supervisor = test.Start({.children = Children(2)});
  const gen::PID a = test.Child("a");
  std::vector<std::string> outcomes;
  std::atomic<int> done{0};
  const auto wait = [&](SpecSupervisor& self) {
    auto passed = self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite});
    outcomes.push_back(passed ? "passed" : passed.error().ToString());
    ++done;
  };
  auto first = test.node.CallAsync<bool>(supervisor, ManageChildren{wait}, kPatient);
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  test.EndChild(a, kFailure);
  gate.Admit(1);
  CHECK(first.get().has_value());
  CHECK(EventuallyNew(test.node, supervisor, "a", a));
  auto second = test.node.CallAsync<bool>(supervisor, ManageChildren{wait}, kPatient);
  REQUIRE(Eventually([&] { return gate.Entered() == 2; }));
  // Not the node, which is its parent.
  REQUIRE(
      test.Run(test.Spawn(), [&](Subject& self) { CHECK(self.SendExit(supervisor, kFailure)); }));
  CHECK(test.Ended(supervisor));
  CHECK(done == 2);
  CHECK(outcomes == Lines{"passed", "process terminated: this process is being ended"});
  gate.Open();
}

// -- all for one, rest for one --

TEST_CASE("supervisor: all for one ends the others in reverse order and starts all in order") {
  for (const bool keep_order : {false, true}) {
    CAPTURE(keep_order);
    Notes<std::string> ended;
    Supervised test;
    const gen::PID supervisor = test.Start(
        {.type = SupervisorType::kAllForOne,
         .children = Children(
             4, {.terminate = [&](Subject& self,
                                  const gen::Reason&) { ended.Add(self.Name().ToString()); }}),
         .restart = {.keep_order = keep_order}});
    const gen::PID d = test.Child("d");
    test.diary.Take();
    test.EndChild(test.Child("b"), kFailure);
    REQUIRE(EventuallyNew(test.node, supervisor, "d", d));
    const Lines lines = test.diary.Lines();
    REQUIRE(lines.size() == 8);
    CHECK(lines[0] == "end b: failure");
    if (keep_order) {
      CHECK(Lines(lines.begin() + 1, lines.begin() + 4) ==
            Lines{"end d: shutdown", "end c: shutdown", "end a: shutdown"});
      CHECK(ended.All() == Lines{"b", "d", "c", "a"});
    }
    CHECK(Lines(lines.begin() + 4, lines.end()) ==
          Lines{"start a", "start b", "start c", "start d"});
  }
}

TEST_CASE("supervisor: rest for one leaves those before alone") {
  Supervised test;
  const gen::PID supervisor =
      test.Start({.type = SupervisorType::kRestForOne, .children = Children(3)});
  const gen::PID a = test.Child("a");
  const gen::PID c = test.Child("c");
  test.diary.Take();
  test.EndChild(test.Child("b"), kFailure);
  REQUIRE(EventuallyNew(test.node, supervisor, "c", c));
  CHECK(test.diary.Lines() == Lines{"end b: failure", "end c: shutdown", "start b", "start c"});
  CHECK(test.Child("a") == a);
}

TEST_CASE(
    "supervisor: a child that handles what it has queued is waited for, others that die too") {
  std::atomic<int> handled{0};
  std::atomic<bool> go{false};
  Supervised test;
  auto children = Children(3);
  children[0].factory = Make({.message = [&](Subject& self, gen::PID, gen::Message&) {
    while (!go.load() && self.Sleep(1ms)) {
    }
    ++handled;
    return gen::Continue();
  }});
  const gen::PID supervisor =
      test.Start({.type = SupervisorType::kAllForOne, .children = children});
  const gen::PID a = test.Child("a");
  for (int i = 0; i < 3; ++i) test.node.Send(a, i).value();
  test.EndChild(test.Child("b"), kFailure);
  // The supervisor answers meanwhile.
  CHECK(Eventually([&] {
    const auto now = ChildrenOf(test.node, supervisor);
    return now[0].state == SupervisorChildState::kStopping &&
           now[2].state == SupervisorChildState::kWaiting;
  }));
  CHECK(test.Ask<gen::PID>(supervisor, act::RestartChildRequest{"c"}).error().detail() ==
        "children are being restarted");
  go = true;
  CHECK(EventuallyNew(test.node, supervisor, "a", a));
  CHECK(handled == 3);
}

// -- intensity --

TEST_CASE("supervisor: too many restarts end it and its children") {
  Supervised test;
  const gen::PID supervisor =
      test.Start({.children = Children(2), .restart = {.intensity = 1, .period_s = 1000}});
  const gen::PID a = test.Child("a");
  test.EndChild(a, kFailure);
  const gen::PID again = EventuallyNew(test.node, supervisor, "a", a);
  test.EndChild(again, kFailure);
  CHECK(test.Ended(supervisor));
  CHECK(test.EventuallyProcesses(0));
  const Lines lines = test.diary.Lines();
  CHECK(lines.back() ==
        "terminate: restart intensity exceeded: more than 1 in 1000 s, the last for child 'a', "
        "failure");
  CHECK(lines[lines.size() - 2] == "end b: shutdown");
}

TEST_CASE("supervisor: an Init that fails after a crash is tried again within the intensity") {
  std::atomic<int> inits{0};
  Supervised test;
  auto children = Children(1, {.init = [&](Subject&, const gen::Args&) -> gen::Status {
                             const int count = ++inits;
                             if (count == 2) throw std::runtime_error("not yet");
                             if (count == 3) return gen::Stop(gen::Reason::Error("not yet"));
                             return gen::Continue();
                           }});
  const gen::PID supervisor =
      test.Start({.children = children, .restart = {.intensity = 3, .period_s = 1000}});
  const gen::PID a = test.Child("a");
  test.EndChild(a, kFailure);
  CHECK(EventuallyNew(test.node, supervisor, "a", a));
  CHECK(inits == 4);
  CHECK(test.node.Inspect(supervisor).value().at("restarts") == "3");
}

TEST_CASE("supervisor: a restart that fails is a failure, whatever the reason") {
  std::atomic<int> inits{0};
  Supervised test;
  auto children = Children(1, {.init = [&](Subject&, const gen::Args&) -> gen::Status {
                             const int count = ++inits;
                             if (count == 2) return gen::Stop(gen::Reason::Normal());
                             if (count == 3) return gen::Stop(gen::Reason::Shutdown());
                             return gen::Continue();
                           }});
  children[0].significant = true;
  const gen::PID supervisor = test.Start(
      {.children = children,
       .restart = {.strategy = SupervisorStrategy::kTransient, .intensity = 3, .period_s = 1000},
       .auto_shutdown = SupervisorAutoShutdown::kAnySignificant});
  const gen::PID a = test.Child("a");
  test.EndChild(a, kFailure);
  REQUIRE(EventuallyNew(test.node, supervisor, "a", a));
  CHECK(inits == 4);
  CHECK(test.node.Inspect(supervisor).value().at("restarts") == "3");
  // Done is who has started.
  test.EndChild(test.Child("a"), gen::Reason::Normal());
  CHECK(test.Ended(supervisor));
}

TEST_CASE("supervisor: a factory that throws counts, and the supervisor gives up") {
  std::atomic<int> made{0};
  Supervised test;
  auto children = Children(1);
  children[0].factory = gen::ProcessFactory(
      [&made]() -> std::unique_ptr<gen::ProcessBehavior> {
        if (++made > 1) throw std::runtime_error("no more");
        return Make({}).Make();
      },
      nullptr);
  const gen::PID supervisor =
      test.Start({.children = children, .restart = {.intensity = 4, .period_s = 1000}});
  test.EndChild(test.Child("a"), kFailure);
  CHECK(test.Ended(supervisor));
  CHECK(made == 5);  // the first one, and four tries
}

// A child whose factory works once, and then waits at a gate and throws.
SupervisorChildSpec FailsSlowly(std::atomic<int>& made, kit::ThreadGate& gate) {
  return {.name = "a",
          .factory = gen::ProcessFactory(
              [&made, hold = gate.Holder()]() -> std::unique_ptr<gen::ProcessBehavior> {
                if (++made == 1) return Make({}).Make();
                hold();
                throw std::runtime_error("no more");
              },
              nullptr)};
}

TEST_CASE("supervisor: each attempt to restart is a turn, others are heard in between") {
  std::atomic<int> made{0};
  Supervised test;
  kit::ThreadGate gate;
  const gen::PID supervisor = test.Start(
      {.children = {FailsSlowly(made, gate)}, .restart = {.intensity = 100, .period_s = 1000}});
  test.EndChild(test.Child("a"), kFailure);
  REQUIRE(Eventually([&] { return made == 2; }));
  // In the middle of the first attempt.
  SUBCASE("exit signal") { CHECK(test.node.SendExit(supervisor, gen::Reason::Shutdown())); }
  SUBCASE("kill") { CHECK(test.node.Kill(supervisor)); }
  SUBCASE("stop, behind a question") {
    auto children = test.node.CallAsync<std::vector<act::SupervisorChild>>(
        supervisor, act::ChildrenRequest{}, kPatient);
    std::thread stop([&] { CHECK(test.node.StopProcess(supervisor, kit::kDeadline)); });
    REQUIRE(Eventually([&] { return test.node.ProcessInfo(supervisor)->messages_queued == 2; }));
    gate.Open();
    stop.join();
    const auto list = children.get().value();
    REQUIRE(list.size() == 1);
    CHECK(list[0].state == SupervisorChildState::kWaiting);
  }
  gate.Open();
  CHECK(test.Ended(supervisor));
  CHECK(made == 2);  // no second attempt came before them
}

TEST_CASE("supervisor: a child whose restart waits can be ended and started") {
  std::atomic<int> made{0};
  const kit::ManualTime time;
  Supervised test(time.Into());
  auto children = Children(1);
  children[0].factory = gen::ProcessFactory(
      [&made]() -> std::unique_ptr<gen::ProcessBehavior> {
        if (++made == 2) throw std::runtime_error("not yet");
        return Make({}).Make();
      },
      nullptr);
  const gen::PID supervisor =
      test.Start({.children = children, .restart = {.backoff_min = 1s, .backoff_max = 1min}});
  test.EndChild(test.Child("a"), kFailure);
  REQUIRE(Eventually([&] { return made == 2; }));
  CHECK(test.Ask<bool>(supervisor, act::TerminateChildRequest{"a"}));
  CHECK(ChildrenOf(test.node, supervisor)[0].state == SupervisorChildState::kEnded);
  CHECK(test.node.Info().timers == 0);
  CHECK(test.Ask<gen::PID>(supervisor, act::StartChildRequest{"a"}));
  CHECK(made == 3);
}

TEST_CASE("supervisor: with a back-off, attempts come later and later, up to a bound") {
  std::atomic<int> made{0};
  const kit::ManualTime time;
  Supervised test(time.Into());
  auto children = Children(1);
  children[0].factory = gen::ProcessFactory(
      [&made]() -> std::unique_ptr<gen::ProcessBehavior> {
        if (++made == 1 || made == 7) return Make({}).Make();
        throw std::runtime_error("not yet");
      },
      nullptr);
  const gen::PID supervisor =
      test.Start({.children = children,
                  .restart = {.intensity = 100, .backoff_min = 10ms, .backoff_max = 50ms}});
  const gen::PID a = test.Child("a");
  test.EndChild(a, kFailure);
  int attempts = 2;  // the first restart comes at once
  for (const auto delay : {10ms, 20ms, 40ms, 50ms, 50ms}) {
    CAPTURE(delay.count());
    REQUIRE(Eventually([&] { return made == attempts && test.node.Info().timers == 1; }));
    time.Pass(delay - 1ns);
    CHECK(test.node.Info().timers == 1);
    time.Pass(1ns);
    ++attempts;
  }
  CHECK(EventuallyNew(test.node, supervisor, "a", a));
  CHECK(made == 7);
}

TEST_CASE("supervisor: a supervisor of supervisors restarts one that has given up") {
  Supervised test;
  SupervisorSpec inner{.children = Children(1), .restart = {.intensity = 0}};
  const gen::PID outer = test.Start({.children = {{.name = "inner",
                                                   .factory = MakeSupervisor(inner),
                                                   .shutdown_timeout = gen::kInfinite,
                                                   .strategy = SupervisorStrategy::kTransient}}});
  const gen::PID before = test.Child("inner");
  test.EndChild(test.Child("a"), kFailure);
  const gen::PID now = EventuallyNew(test.node, outer, "inner", before);
  REQUIRE(now);
  CHECK(ChildOf(test.node, now, "a"));
}

TEST_CASE("supervisor: an Init that does not end holds back nothing") {
  std::atomic<int> inits{0};
  Supervised test;
  auto children = Children(2);
  children[0].factory = Make({.init = [&](Subject& self, const gen::Args&) -> gen::Status {
    if (++inits > 1) (void)self.Sleep(1h);
    return gen::Continue();
  }});
  const gen::PID supervisor = test.Start({.children = children});
  test.EndChild(test.Child("a"), kFailure);
  CHECK(Eventually([&] {
    return ChildrenOf(test.node, supervisor)[0].state == SupervisorChildState::kStarting;
  }));
  const gen::PID b = test.Child("b");
  test.EndChild(b, kFailure);
  CHECK(EventuallyNew(test.node, supervisor, "b", b));
  REQUIRE(test.node.SendExit(supervisor, gen::Reason::Shutdown()));
  CHECK(test.Ended(supervisor));
  CHECK(test.EventuallyProcesses(0));
}

// -- the end --

TEST_CASE("supervisor: the end is in reverse order, one after the other") {
  Notes<std::string> ended;
  Supervised test;
  const gen::PID supervisor = test.Start(
      {.children = Children(4, {.terminate = [&](Subject& self, const gen::Reason& reason) {
                              ended.Add(self.Name().ToString() + " " + reason.ToString());
                            }})});
  REQUIRE(test.node.StopProcess(supervisor, kit::kDeadline));
  CHECK(ended.All() == Lines{"d shutdown", "c shutdown", "b shutdown", "a shutdown"});
  CHECK(test.diary.Lines().back() == "terminate: normal");
}

TEST_CASE("supervisor: who does not end in time is killed, others are waited for") {
  std::atomic<bool> go{false};
  Supervised test;
  auto children = Children(3);
  const auto wait = [&go](Subject& self, const gen::Reason&) {
    while (!go.load() && self.Sleep(1ms)) {
    }
  };
  children[0].factory = Make({.terminate = wait});
  children[0].shutdown_timeout = gen::kInfinite;
  children[1].factory =
      Make({.terminate = [](Subject& self, const gen::Reason&) { (void)self.Sleep(1h); }});
  children[1].shutdown_timeout = 5ms;
  children[2].shutdown_timeout = 0s;  // killed at once
  const gen::PID supervisor = test.Start({.children = children});
  test.diary.Take();
  REQUIRE(test.node.SendExit(supervisor, gen::Reason::Shutdown()));
  CHECK(Eventually([&] {
    const auto now = ChildrenOf(test.node, supervisor);
    return now[0].state == SupervisorChildState::kStopping;
  }));
  CHECK(test.diary.Lines().front() == "end c: killed");
  CHECK(test.diary.Lines().size() == 2);
  CHECK(test.node.Inspect(supervisor).value().at("state") == "stopping");
  go = true;
  CHECK(test.Ended(supervisor));
}

TEST_CASE("supervisor: a kill takes the children along") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(3)});
  REQUIRE(test.node.Kill(supervisor));
  CHECK(test.EventuallyProcesses(0));
}

TEST_CASE("supervisor: an exception in its own handler ends all") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(3)});
  CHECK_FALSE(test.node.Call<bool>(
      supervisor, ManageChildren{[](SpecSupervisor&) { throw std::runtime_error("oops"); }}));
  CHECK(test.EventuallyProcesses(0));
}

TEST_CASE("supervisor: its end while a child is being started leaves nobody") {
  Supervised test;
  auto children = Children(2);
  children[1].factory = Make({.init = [](Subject& self, const gen::Args&) -> gen::Status {
    (void)self.Sleep(1h);
    return gen::Continue();
  }});
  const gen::PID owner = test.Spawn();
  test.Begin(owner, [&](Subject& self) {
    (void)self.Spawn(MakeSupervisor({.children = children}), {.link_parent = true});
  });
  CHECK(Eventually([&] { return test.Child("b").operator bool(); }));
  REQUIRE(test.node.Kill(owner));
  CHECK(test.EventuallyProcesses(0));
}

// -- significant children --

TEST_CASE("supervisor: the end of significant children ends it") {
  Supervised test;
  auto children = Children(3);
  children[0].significant = children[1].significant = true;
  const auto start = [&](SupervisorAutoShutdown when) {
    return test.Start({.children = children,
                       .restart = {.strategy = SupervisorStrategy::kTransient},
                       .auto_shutdown = when});
  };
  SUBCASE("any") {
    const gen::PID supervisor = start(SupervisorAutoShutdown::kAnySignificant);
    const gen::PID a = test.Child("a");
    test.EndChild(a, kFailure);
    REQUIRE(EventuallyNew(test.node, supervisor, "a", a));
    test.EndChild(test.Child("c"), gen::Reason::Normal());
    CHECK(Eventually([&] {
      return ChildrenOf(test.node, supervisor)[2].state == SupervisorChildState::kEnded;
    }));
    CHECK(test.IsAlive(supervisor));
    test.EndChild(test.Child("b"), gen::Reason::Normal());
    CHECK(test.Ended(supervisor));
  }
  SUBCASE("all") {
    const gen::PID supervisor = start(SupervisorAutoShutdown::kAllSignificant);
    test.EndChild(test.Child("a"), gen::Reason::Normal());
    CHECK(Eventually([&] {
      return ChildrenOf(test.node, supervisor)[0].state == SupervisorChildState::kEnded;
    }));
    test.EndChild(test.Child("b"), gen::Reason::Normal());
    CHECK(test.Ended(supervisor));
  }
  CHECK(test.diary.Lines().back() == "terminate: shutdown");
}

// -- management --

TEST_CASE("supervisor: management from its own handlers") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(2)});
  const gen::PID a = test.Child("a");
  test.In(supervisor, [&](SpecSupervisor& self) {
    CHECK(self.StartChild("a").error() == gen::ErrChildRunning);
    CHECK(self.StartChild("nobody").error() == gen::ErrProcessUnknown);
    CHECK(self.DeleteChild("a").error() == gen::ErrChildRunning);
    CHECK(self.TerminateChild("a"));
    CHECK(self.TerminateChild("a").error() == gen::ErrNotAllowed);
  });
  REQUIRE(test.Ended(a));
  CHECK(Eventually(
      [&] { return ChildrenOf(test.node, supervisor)[0].state == SupervisorChildState::kEnded; }));
  test.In(supervisor, [&](SpecSupervisor& self) {
    const auto started = self.StartChild("a");
    REQUIRE(started);
    CHECK(test.Child("a") == *started);
    CHECK(self.Children()[0].pid == *started);
    const auto added = self.AddChild({.name = "x", .factory = Make({})});
    REQUIRE(added);
    CHECK(test.Child("x") == *added);
    CHECK(self.AddChild({.name = "x", .factory = Make({})}).error() == gen::ErrTaken);
    CHECK(self.AddChild({.name = "y"}).error() == gen::ErrIncorrect);
    const auto failed = self.AddChild(
        {.name = "y", .factory = Make({.init = [](Subject&, const gen::Args&) -> gen::Status {
                        return gen::Stop(gen::Reason::Error("no"));
                      }})});
    CHECK(failed.error().detail() == "child 'y': no");
    CHECK(self.Children().size() == 3);
    CHECK(self.RestartChild("x"));
  });
  CHECK(test.EventuallyLines({"start a", "start b", "end a: shutdown", "start a", "start x",
                              "end x: shutdown", "start x"}));
  test.In(supervisor, [&](SpecSupervisor& self) { CHECK(self.TerminateChild("b")); });
  CHECK(Eventually(
      [&] { return ChildrenOf(test.node, supervisor)[1].state == SupervisorChildState::kEnded; }));
  test.In(supervisor, [&](SpecSupervisor& self) {
    CHECK(self.DeleteChild("b"));
    CHECK(self.Children().size() == 2);
    CHECK(self.StartChild("b").error() == gen::ErrProcessUnknown);
  });
}

TEST_CASE("supervisor: management by requests") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(2)});
  const gen::PID a = test.Child("a");

  const auto restarted = test.Ask<gen::PID>(supervisor, act::RestartChildRequest{"a"});
  REQUIRE(restarted);
  CHECK(*restarted != a);
  CHECK(test.Child("a") == *restarted);

  CHECK(test.Ask<bool>(supervisor, act::DisableChildRequest{"a"}));
  CHECK_FALSE(test.IsAlive(*restarted));
  CHECK(ChildrenOf(test.node, supervisor)[0].state == SupervisorChildState::kDisabled);
  CHECK(test.Ask<gen::PID>(supervisor, act::StartChildRequest{"a"}).error().ToString() ==
        "child is disabled: 'a'");
  CHECK(test.Ask<gen::PID>(supervisor, act::StartChildRequest{"a"}).error() ==
        gen::ErrChildDisabled);
  const auto enabled = test.Ask<gen::PID>(supervisor, act::EnableChildRequest{"a"});
  CHECK(enabled.value() == test.Child("a"));

  CHECK(test.Ask<bool>(supervisor, act::TerminateChildRequest{"a"}));
  CHECK(test.Ask<bool>(supervisor, act::TerminateChildRequest{"a"}));  // has ended already
  CHECK(test.Ask<bool>(supervisor, act::TerminateChildRequest{.pid = test.Child("b")}));
  CHECK(test.Ask<bool>(supervisor, act::DeleteChildRequest{"b"}));
  CHECK(ChildrenOf(test.node, supervisor).size() == 1);
  CHECK(test.Ask<gen::PID>(supervisor, act::StartChildRequest{"b"}).error() ==
        gen::ErrProcessUnknown);

  const auto failed = test.Ask<gen::PID>(
      supervisor,
      act::AddChildRequest{{.name = "z", .factory = Make({.init = [](Subject&, const gen::Args&) {
                                           return gen::Status(gen::Stop(gen::Reason::Error("no")));
                                         }})}});
  CHECK(failed.error().ToString() == "process terminated: no");
  CHECK(ChildrenOf(test.node, supervisor).size() == 1);
  const auto added =
      test.Ask<gen::PID>(supervisor, act::AddChildRequest{{.name = "z", .factory = Make({})}});
  CHECK(added.value() == test.Child("z"));
  CHECK(test.Ask<bool>(supervisor, std::string("what?")).error() == gen::ErrUnsupported);
}

TEST_CASE("supervisor: requests and functions return what the spawn of the child returned") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(1)});
  CHECK(test.Ask<bool>(supervisor, act::TerminateChildRequest{"a"}));
  for (const char* name : {"a", "z"}) {
    test.Run(test.Spawn(), [&](Subject& self) { self.RegisterName(name).value(); }).value();
  }
  const SupervisorChildSpec z = {.name = "z", .factory = Make({})};
  const auto started = test.Ask<gen::PID>(supervisor, act::StartChildRequest{"a"});
  const auto restarted = test.Ask<gen::PID>(supervisor, act::RestartChildRequest{"a"});
  const auto added = test.Ask<gen::PID>(supervisor, act::AddChildRequest{z});
  CHECK(started.error().ToString() == "name is taken: child 'a': 'a'");
  CHECK(restarted.error().ToString() == started.error().ToString());
  CHECK(added.error() == gen::ErrTaken);
  test.In(supervisor, [&](SpecSupervisor& self) {
    CHECK(self.StartChild("a").error().ToString() == started.error().ToString());
    CHECK(self.AddChild(z).error().ToString() == added.error().ToString());
  });
  CHECK(ChildrenOf(test.node, supervisor).size() == 1);
}

TEST_CASE("supervisor: a request for a child that is then ended is answered") {
  Supervised test;
  auto children = Children(1);
  const gen::PID supervisor = test.Start({.children = children});
  auto added = test.node.CallAsync<gen::PID>(
      supervisor,
      act::AddChildRequest{{.name = "slow",
                            .factory = Make({.init =
                                                 [](Subject& self, const gen::Args&) {
                                                   (void)self.Sleep(1h);
                                                   return gen::Continue();
                                                 }})}},
      {.timeout = gen::kInfinite});
  CHECK(Eventually([&] { return ChildrenOf(test.node, supervisor).size() == 2; }));
  SUBCASE("by a request") { CHECK(test.Ask<bool>(supervisor, act::TerminateChildRequest{"slow"})); }
  SUBCASE("by a signal to the supervisor, which the Init does not hold back") {
    CHECK(test.node.SendExit(supervisor, gen::Reason::Shutdown()));
    CHECK(test.Ended(supervisor));
  }
  CHECK(added.get().error() == gen::ErrProcessTerminated);
}

TEST_CASE("supervisor: its functions are for its own handlers") {
  struct Early : act::Supervisor {
    gen::Result<SupervisorSpec> Init(const gen::Args&) override {
      CHECK(StartChild("a").error().detail() == "StartChild: not before the end of Init");
      CHECK(Children().empty());
      return SupervisorSpec{};
    }
  };
  Supervised test;
  CHECK(test.node.Spawn(gen::Factory<Early>()));
}

// -- simple one for one --

TEST_CASE("supervisor: simple one for one makes children of templates") {
  Notes<std::string> inits;
  Supervised test;
  const gen::PID supervisor = test.Start(
      {.type = SupervisorType::kSimpleOneForOne,
       .children = {{.name = "job",
                     .factory = Make({.init =
                                          [&](Subject& self, const gen::Args& args) {
                                            CHECK(self.Name().empty());
                                            inits.Add(args.Get<std::string>(0).value() +
                                                      args.Get<std::string>(1).value_or(""));
                                            return gen::Continue();
                                          }}),
                     .args = gen::MakeArgs("x")}},
       .restart = {.strategy = SupervisorStrategy::kTransient}});
  CHECK(inits.size() == 0);
  CHECK(ChildrenOf(test.node, supervisor).empty());
  const auto start = [&](const char* arg) {
    return test.Ask<gen::PID>(supervisor, act::StartChildRequest{"job", gen::MakeArgs(arg)})
        .value();
  };
  const gen::PID one = start("1");
  const gen::PID two = start("2");
  CHECK(inits.All() == Lines{"x1", "x2"});
  const auto inspection = test.node.Inspect(supervisor).value();
  CHECK(inspection.at("child:job:2") == two.ToString() + " running restarts=0");

  test.EndChild(one, kFailure);  // again, with its arguments
  CHECK(Eventually([&] { return inits.size() == 3; }));
  CHECK(inits.All().back() == "x1");
  test.EndChild(two, gen::Reason::Normal());  // it was done
  CHECK(Eventually([&] { return ChildrenOf(test.node, supervisor).size() == 1; }));

  CHECK(test.Ask<bool>(supervisor, act::TerminateChildRequest{"job"}).error() ==
        gen::ErrNotAllowed);
  CHECK(test.Ask<bool>(supervisor, act::DeleteChildRequest{"job"}).error() == gen::ErrNotAllowed);
  CHECK(test.Ask<bool>(supervisor, act::DisableChildRequest{"job"}));
  CHECK(ChildrenOf(test.node, supervisor).empty());
  CHECK(test.Ask<gen::PID>(supervisor, act::StartChildRequest{"job"}).error().ToString() ==
        "child is disabled: 'job'");
  CHECK(test.Ask<gen::PID>(supervisor, act::EnableChildRequest{"job"}));
  test.In(supervisor, [&](SpecSupervisor& self) {
    const auto pid = self.StartChild("job", gen::MakeArgs("3"));
    REQUIRE(pid);
    CHECK(self.TerminateChild(*pid));
  });
  CHECK(Eventually([&] { return ChildrenOf(test.node, supervisor).empty(); }));
  CHECK(test.Ask<bool>(supervisor, act::DeleteChildRequest{"job"}));
  CHECK(test.Ask<gen::PID>(supervisor, act::StartChildRequest{"job"}).error() ==
        gen::ErrProcessUnknown);
}

TEST_CASE("supervisor: to disable a template is done when its last child has ended") {
  Supervised test;
  kit::ThreadGate gate;
  auto children = Children(
      2, {.terminate = [enter = gate.Holder()](Subject&, const gen::Reason&) { enter(); }});
  children.push_back({.name = "c", .factory = Make({})});
  const gen::PID supervisor =
      test.Start({.type = SupervisorType::kSimpleOneForOne, .children = children});
  const auto start = [&](const char* name) {
    return test.Ask<gen::PID>(supervisor, act::StartChildRequest{name}).value();
  };
  const auto disable = [&](const char* name) {
    return test.node.CallAsync<bool>(
        supervisor, act::DisableChildRequest{name},
        {.timeout = gen::kInfinite, .priority = gen::MessagePriority::kHigh});
  };
  const gen::PID held = start("a");
  for (int i = 0; i < 3; ++i) test.node.Kill(start("c")).value();  // they may be starting again
  for (int i = 0; i < 3; ++i) start("c");
  CHECK(disable("c").get().value());
  CHECK(ChildrenOf(test.node, supervisor).size() == 1);
  CHECK(test.Ask<bool>(supervisor, act::DeleteChildRequest{"c"}));
  CHECK(disable("b").get().value());  // has none

  auto first = disable("a");
  auto second = disable("a");  // its child is being ended already
  CHECK(Eventually([&] { return gate.Entered() == 1; }));
  // One that is started meanwhile is not waited for.
  CHECK(test.Ask<gen::PID>(supervisor, act::EnableChildRequest{"a"}));
  start("a");
  CHECK(first.wait_for(0s) == std::future_status::timeout);
  CHECK(second.wait_for(0s) == std::future_status::timeout);
  gate.Open();
  CHECK(first.get().value());
  CHECK(second.get().value());
  CHECK_FALSE(test.IsAlive(held));
  CHECK(ChildrenOf(test.node, supervisor).size() == 1);
}

TEST_CASE("supervisor: simple one for one with very many children") {
  Supervised test;
  constexpr int kCount = kit::Scaled(2000, 4);
  const gen::PID supervisor = test.Start({.type = SupervisorType::kSimpleOneForOne,
                                          .children = Children(1),
                                          .restart = {.intensity = kCount}});
  std::set<gen::PID> pids;
  test.In(supervisor, [&](SpecSupervisor& self) {
    for (int i = 0; i < kCount; ++i) pids.insert(self.StartChild("a").value());
  });
  for (const gen::PID pid : pids) REQUIRE(test.node.Kill(pid));
  std::string restarts, running;
  const bool all = Eventually([&] {
    const auto now = test.node.Inspect(supervisor).value();
    restarts = now.at("restarts");
    running = now.at("children_running");
    return restarts == std::to_string(kCount) && running == std::to_string(kCount);
  });
  CHECK_MESSAGE(all, "restarts " << restarts << ", running " << running << " of " << kCount);
  REQUIRE(test.node.SendExit(supervisor, gen::Reason::Shutdown()));
  CHECK(test.EventuallyProcesses(0));
}

// -- inspection --

TEST_CASE("supervisor: inspection") {
  Supervised test;
  auto children = Children(2);
  children[1].strategy = SupervisorStrategy::kTemporary;
  const gen::PID supervisor = test.Start({.type = SupervisorType::kRestForOne,
                                          .children = children,
                                          .restart = {.intensity = 3, .period_s = 60}});
  test.EndChild(test.Child("b"), kFailure);
  CHECK(Eventually([&] {
    return test.node.Inspect(supervisor).value() ==
           gen::Inspection{{"type", "rest for one"},
                           {"strategy", "permanent"},
                           {"intensity", "3"},
                           {"period", "60"},
                           {"restarts", "0"},
                           {"children_total", "2"},
                           {"children_running", "1"},
                           {"child:a", test.Child("a").ToString() + " running restarts=0"},
                           {"child:b", "nobody ended restarts=0"},
                           {"state", "running"}};
  }));
  CHECK(test.node.Inspect(supervisor, {"child", "type"}).value().size() == 3);
}

SupervisorSpec NestedSpec(int depth) {
  if (depth == 0) return {.children = Children(1)};
  const gen::ProcessFactory child(
      [depth] { return std::make_unique<SpecSupervisor>(NestedSpec(depth - 1)); },
      &typeid(SpecSupervisor));
  return {.children = {{.name = "level" + std::to_string(depth), .factory = child}}};
}

TEST_CASE("supervisor: under a supervisor, as deep as one likes") {
  constexpr int kDepth = 1000;
  Supervised t;
  const gen::PID top = t.Start(NestedSpec(kDepth));
  CHECK(t.node.Info().processes == kDepth + 2);
  CHECK(t.Child("a"));
  CHECK(t.node.StopProcess(top, kit::kDeadline));
  CHECK(t.Ended(top));
  CHECK(t.EventuallyProcesses(0));
}

}  // namespace
}  // namespace ergon::node
