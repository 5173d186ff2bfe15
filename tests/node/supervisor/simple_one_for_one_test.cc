// A supervisor whose children are made of templates.
#include <ergon/act/supervisor.h>

#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <kit/gate.h>
#include <kit/supervisor.h>

#include <node/supervisor/supervised.h>

namespace ergon::node {
namespace {

using act::SupervisorStrategy;
using act::SupervisorType;
using kit::ChildrenOf;
using kit::Eventually;
using kit::SpecSupervisor;
using Lines = std::vector<std::string>;

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

}  // namespace
}  // namespace ergon::node
