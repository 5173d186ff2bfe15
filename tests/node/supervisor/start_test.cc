// How a supervisor starts its children.
#include <ergon/act/supervisor.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <kit/gate.h>
#include <kit/supervisor.h>

#include <node/supervisor/supervised.h>

namespace ergon::node {
namespace {

using act::SupervisorChildState;
using kit::ChildrenOf;
using kit::Eventually;
using kit::MakeSupervisor;
using Lines = std::vector<std::string>;

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

TEST_CASE("supervisor: a start that fails in HandleChildStart leaves no child behind") {
  class Throws : public act::Supervisor {
   public:
    explicit Throws(act::SupervisorSpec spec) : spec_(std::move(spec)) {}

   private:
    gen::Result<act::SupervisorSpec> Init(const gen::Args&) override { return spec_; }
    gen::Status HandleChildStart(gen::Atom name, gen::PID) override {
      if (name == gen::Atom("b")) throw std::runtime_error("not ready");
      return gen::Continue();
    }
    const act::SupervisorSpec spec_;
  };
  Notes<std::string> ended;
  Supervised test;
  const auto children = Children(2, {.terminate = [&](Subject& self, const gen::Reason& reason) {
                                   ended.Add(self.Name().ToString() + " " + reason.ToString());
                                 }});
  const auto started =
      test.node.Spawn(gen::Factory<Throws>(act::SupervisorSpec{.children = children}));
  REQUIRE_FALSE(started);
  CHECK(started.error().ToString().find("not ready") != std::string::npos);
  CHECK(ended.All() == Lines{"b shutdown", "a shutdown"});
  CHECK_FALSE(test.Child("a"));
  CHECK_FALSE(test.Child("b"));
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
  CHECK(test.log.Count("is killed: it has not ended within 10 ms") == 1);
  CHECK(test.EventuallyProcesses(0));
}

TEST_CASE("supervisor: a child whose name somebody has makes the start fail, and says so") {
  Supervised test;
  test.node.SpawnRegister("a", Make({})).value();
  const auto started = test.node.Spawn(MakeSupervisor({.children = Children(1)}));
  REQUIRE_FALSE(started);
  CHECK(started.error().detail() == "child 'a': name is taken: 'a'");
}

TEST_CASE("supervisor: an incorrect spec makes the start fail") {
  Supervised test;
  const auto started = test.node.Spawn(MakeSupervisor({.restart = {.intensity = -1}}));
  REQUIRE_FALSE(started);
  CHECK(started.error().detail() == "restart.intensity: -1 is outside 0..1000000");
}

}  // namespace
}  // namespace ergon::node
