// How often a supervisor restarts, and when it gives up.
#include <ergon/act/supervisor.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <kit/supervisor.h>

#include <node/supervisor/supervised.h>

namespace ergon::node {
namespace {

using act::SupervisorAutoShutdown;
using act::SupervisorChildSpec;
using act::SupervisorChildState;
using act::SupervisorSpec;
using act::SupervisorStrategy;
using kit::ChildOf;
using kit::ChildrenOf;
using kit::Eventually;
using kit::EventuallyNew;
using kit::MakeSupervisor;
using Lines = std::vector<std::string>;

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
        "terminate: restart intensity exceeded: more than 1 restart within 1000 s, the last for "
        "child 'a', "
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
    std::jthread stop([&] { CHECK(test.node.StopProcess(supervisor, kit::kDeadline)); });
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

TEST_CASE("supervisor: one that ends starts no child whose restart waits") {
  std::atomic<int> made{0};
  const kit::ManualTime time;
  kit::ThreadGate gate;
  Supervised test(time.Into());
  auto children = Children(2);
  children[0].factory = gen::ProcessFactory(
      [&made]() -> std::unique_ptr<gen::ProcessBehavior> {
        if (++made == 2) throw std::runtime_error("not yet");
        return Make({}).Make();
      },
      nullptr);
  children[1].factory =
      Make({.terminate = [enter = gate.Holder()](Subject&, const gen::Reason&) { enter(); }});
  const gen::PID supervisor =
      test.Start({.children = children, .restart = {.backoff_min = 1s, .backoff_max = 1min}});
  test.EndChild(test.Child("a"), kFailure);
  REQUIRE(Eventually([&] { return made == 2; }));
  REQUIRE(test.node.SendExit(supervisor, gen::Reason::Shutdown()));
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  time.Pass(1s);
  CHECK(test.node.Inspect(supervisor));  // the turn of the restart is over
  CHECK(made == 2);
  gate.Open();
  CHECK(test.Ended(supervisor));
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

}  // namespace
}  // namespace ergon::node
