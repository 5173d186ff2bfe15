// Inspect answers alike for every behaviour: the user's items, those of the behaviour, and no others
// than were asked for.
#include <string>
#include <vector>

#include <ergon/act/pool.h>
#include <ergon/act/serializer.h>
#include <ergon/act/state_machine.h>
#include <ergon/act/supervisor.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

// What a user's HandleInspect tells everywhere below, whatever was asked for.
gen::Inspection Own() { return {{"color", "blue"}, {"tank.1", "full"}, {"state", "mine"}}; }

class InspectedActor : public act::Actor {
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    return Own();
  }
};

class InspectedPool : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2, .worker_factory = gen::Factory<InspectedActor>()};
  }
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    return Own();
  }
};

class InspectedSupervisor : public act::Supervisor {
  gen::Result<act::SupervisorSpec> Init(const gen::Args&) override {
    return act::SupervisorSpec{
        .children = {{.name = "inspected_child", .factory = gen::Factory<InspectedActor>()}}};
  }
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    return Own();
  }
};

enum class Lamp : std::uint8_t { kOff };

class InspectedMachine : public act::StateMachine<Lamp> {
 public:
  InspectedMachine() {
    In(Lamp::kOff, "off", [](act::StateEvent&) { return Keep(); });
  }

 private:
  act::Transition Init(const gen::Args&) override { return GoTo(Lamp::kOff); }
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    return Own();
  }
};

struct InspectedBehavior {
  std::string name;
  gen::ProcessFactory factory;
  std::string state;  // the behaviour's own wins
  std::string key;    // one of the behaviour's own
};

TEST_CASE(
    "inspect: every behaviour merges the user's items with its own, and answers what is asked") {
  const std::vector<InspectedBehavior> cases = {
      {"actor", gen::Factory<InspectedActor>(), "mine", "color"},
      {"pool", gen::Factory<InspectedPool>(), "running", "worker.2"},
      {"supervisor", gen::Factory<InspectedSupervisor>(), "running", "child:inspected_child"},
      {"state machine", gen::Factory<InspectedMachine>(), "off", "postponed"},
  };
  TestNode t;
  for (const InspectedBehavior& one : cases) {
    CAPTURE(one.name);
    const gen::PID pid = t.node.Spawn(one.factory).value();
    const auto all = t.node.Inspect(pid).value();
    CHECK(all.at("color") == "blue");
    CHECK(all.at("tank.1") == "full");
    CHECK(all.at("state") == one.state);
    CHECK(all.contains(one.key));
    CHECK(t.node.Inspect(pid, {"color"}).value() == gen::Inspection{{"color", "blue"}});
    CHECK(t.node.Inspect(pid, {"tank"}).value() == gen::Inspection{{"tank.1", "full"}});
    CHECK(t.node.Inspect(pid, {"state"}).value() == gen::Inspection{{"state", one.state}});
    CHECK(t.node.Inspect(pid, {one.key}).value().size() == 1);
    CHECK(t.node.Inspect(pid, {one.key, "tank"}).value().size() == 2);
    CHECK(t.node.Inspect(pid, {"col", "nothing"}).value().empty());
    CHECK(t.node.StopProcess(pid));
  }
}

TEST_CASE("inspect: a behaviour asks for what a pool tells of itself as a struct") {
  TestNode t;
  const gen::PID pool = t.node.Spawn(gen::Factory<InspectedPool>()).value();
  CHECK(t.Run(t.Spawn(), [pool](Subject& self) {
    const auto stats = self.InspectAs<act::PoolStats>(pool);
    REQUIRE(stats);
    CHECK(stats->size == 2);
    CHECK(self.Groups().empty());
    CHECK(self.JoinGroup("inspects"));
    CHECK(self.Groups() == std::vector<gen::Atom>{"inspects"});
  }));
}

TEST_CASE("inspect: a serializer tells of itself, its service when it is asked by its PID") {
  TestNode t;
  const gen::PID pid = t.node.Spawn(act::Serializer::Of(gen::Factory<InspectedActor>())).value();
  const auto all = t.node.Inspect(pid).value();
  CHECK(all.at("state") == "running");
  CHECK(!all.contains("color"));
  CHECK(t.node.Inspect(pid, {"inside", "waiting"}).value() ==
        gen::Inspection{{"inside", "0"}, {"waiting", "0"}});
  for (const gen::PID service : t.node.ProcessList()) {
    if (service != pid) CHECK(t.node.Inspect(service).value() == Own());
  }
}

}  // namespace
}  // namespace ergon::node
