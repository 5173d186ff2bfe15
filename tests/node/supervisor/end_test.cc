// How a supervisor and its children end.
#include <ergon/act/supervisor.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <kit/gate.h>
#include <kit/supervisor.h>

#include <node/supervisor/supervised.h>

namespace ergon::node {
namespace {

using act::SupervisorAutoShutdown;
using act::SupervisorChildState;
using act::SupervisorStrategy;
using kit::ChildrenOf;
using kit::Eventually;
using kit::EventuallyNew;
using kit::MakeSupervisor;
using kit::ManageChildren;
using kit::SpecSupervisor;
using Lines = std::vector<std::string>;

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
  CHECK(test.log.Count("child 'b' ") == 1);
  CHECK(test.log.Count("is killed: it has not ended within 5 ms") == 1);
}

TEST_CASE("supervisor: a kill takes the children along") {
  Supervised test;
  const gen::PID supervisor = test.Start({.children = Children(3)});
  REQUIRE(test.node.Kill(supervisor));
  CHECK(test.EventuallyProcesses(0));
}

TEST_CASE(
    "supervisor: the next incarnation of one that was killed waits for the names of its children") {
  const gen::ProcessOptions patient{.init_timeout = kit::kDeadline};
  const auto inner = kit::MakeSupervisor(
      {.children = {{.name = "worker", .factory = Make({}), .options = patient}}});
  const auto middle =
      kit::MakeSupervisor({.children = {{.name = "inner", .factory = inner, .options = patient}}});
  // The parent of the child with the name, or the one above that.
  for (const gen::Atom killed : {"inner", "middle"}) {
    CAPTURE(killed);
    Supervised test;
    const gen::PID top =
        test.Start({.children = {{.name = "middle", .factory = middle, .options = patient}}});
    const gen::PID worker = test.Child("worker");
    kit::ThreadGate gate;
    test.Begin(worker, [enter = gate.Holder()](Subject&) { enter(); });
    REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
    const gen::PID before = test.Child("inner");
    REQUIRE(test.node.Kill(test.Child(killed)));
    CHECK(Eventually([&] {
      const gen::PID next = test.Child("inner");
      return next && next != before;
    }));
    CHECK(test.Child("worker") == worker);
    gate.Open();
    CHECK(Eventually([&] { return test.Child("worker") && test.Child("worker") != worker; }));
    CHECK(test.IsAlive(top));
  }
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

}  // namespace
}  // namespace ergon::node
