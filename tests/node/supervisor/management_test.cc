// Children that are started, ended and looked at while a supervisor runs.
#include <ergon/act/supervisor.h>

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <kit/supervisor.h>

#include <node/supervisor/supervised.h>

namespace ergon::node {
namespace {

using act::SupervisorChildSpec;
using act::SupervisorChildState;
using act::SupervisorSpec;
using act::SupervisorStrategy;
using act::SupervisorType;
using kit::ChildrenOf;
using kit::Eventually;
using kit::SpecSupervisor;

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
    CHECK(self.DisableChild("x"));
  });
  CHECK(Eventually([&] {
    return ChildrenOf(test.node, supervisor)[1].state == SupervisorChildState::kDisabled;
  }));
  test.In(supervisor, [&](SpecSupervisor& self) {
    CHECK(self.StartChild("x").error() == gen::ErrChildDisabled);
    CHECK(self.EnableChild("x"));
    CHECK(self.Children()[1].pid == test.Child("x"));
  });
  // The requests know what they are answered with.
  const auto children = test.node.Call(supervisor, act::ChildrenRequest{}, kPatient);
  REQUIRE(children);
  CHECK(children->size() == 2);
  const auto restarted = test.node.Call(supervisor, act::RestartChildRequest{"x"}, kPatient);
  REQUIRE(restarted);
  CHECK(*restarted == test.Child("x"));
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
