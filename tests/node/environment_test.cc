#include <memory>
#include <vector>

#include <ergon/act/pool.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

using Values = gen::Environment;

// What a process sees, and what it is told to do to it.
Values EnvOf(TestNode& t, gen::PID pid) {
  Values values;
  CHECK(t.Run(pid, [&](Subject& self) { values = self.EnvList(); }));
  return values;
}

gen::PID SpawnBy(TestNode& t, gen::PID parent, Values environment = {}) {
  gen::PID pid;
  CHECK(t.Run(parent, [&](Subject& self) {
    gen::ProcessOptions options;
    options.environment = std::move(environment);
    pid = self.Spawn(Make({}), options).value();
  }));
  return pid;
}

TEST_CASE("environment: node, leader, parent, process; later ones override") {
  TestNode t({.environment = {{"a", "node"}, {"b", "node"}, {"c", "node"}, {"d", "node"}}});
  const gen::PID leader = t.Spawn({}, {.environment = {{"b", "leader"}, {"c", "leader"}}});
  const gen::PID parent = SpawnBy(t, leader, {{"c", "parent"}});
  const gen::PID child = SpawnBy(t, parent, {{"e", "child"}});
  CHECK(EnvOf(t, leader) == Values{{"a", "node"}, {"b", "leader"}, {"c", "leader"}, {"d", "node"}});
  CHECK(EnvOf(t, parent) == Values{{"a", "node"}, {"b", "leader"}, {"c", "parent"}, {"d", "node"}});
  CHECK(EnvOf(t, child) ==
        Values{{"a", "node"}, {"b", "leader"}, {"c", "parent"}, {"d", "node"}, {"e", "child"}});
  CHECK(t.Run(child, [](Subject& self) {
    CHECK(self.Env("c") == "parent");
    CHECK(!self.Env("none"));
  }));
  CHECK(t.node.ProcessInfo(child)->environment == EnvOf(t, child));
}

TEST_CASE("environment: inherited at spawn, changed for the process and those it spawns later") {
  TestNode t;
  CHECK(t.node.EnvList().empty());
  const gen::PID leader = t.Spawn();
  const gen::PID before = SpawnBy(t, leader);
  CHECK(t.Run(leader, [](Subject& self) {
    self.SetEnv("x", "1");
    self.SetEnv("y", "2");
    self.SetEnv("y", std::nullopt);
  }));
  t.node.SetEnv("n", "3");
  const gen::PID after = SpawnBy(t, leader);
  CHECK(EnvOf(t, leader) == Values{{"x", "1"}});
  CHECK(EnvOf(t, before).empty());
  CHECK(EnvOf(t, after) == Values{{"n", "3"}, {"x", "1"}});
  // A process whose parent is older than the leader's value has it from the leader.
  CHECK(EnvOf(t, SpawnBy(t, before)) == Values{{"n", "3"}, {"x", "1"}});
  CHECK(t.node.Env("n") == "3");
  t.node.SetEnv("n", std::nullopt);
  CHECK(!t.node.Env("n"));
  CHECK(EnvOf(t, t.Spawn()).empty());
  CHECK(EnvOf(t, after).at("n") == "3");
  // Nothing is left for the slot's next process.
  CHECK(t.node.Kill(after));
  CHECK(t.Ended(after));
  for (int i = 0; i < 300; ++i) {
    const gen::PID next = t.Spawn();
    CHECK(t.node.ProcessInfo(next)->environment.empty());
    CHECK(t.node.Kill(next));
  }
}

TEST_CASE("environment: names must not be empty") {
  CHECK(Start("x@localhost", {.environment = {{"", "1"}}}).error().detail() ==
        "environment: a name must not be empty");
  TestNode t;
  CHECK(t.node.Spawn(Make({}), {.environment = {{"", "1"}}}).error() == gen::ErrIncorrect);
}

TEST_CASE("leader: the first of a tree; the process that stands for an application") {
  TestNode t;
  const gen::PID leader = t.Spawn();
  const gen::PID child = SpawnBy(t, leader);
  const gen::PID grandchild = SpawnBy(t, child);
  for (const gen::PID pid : {leader, child, grandchild}) {
    CHECK(t.node.ProcessInfo(pid)->leader == leader);
    CHECK(t.Run(pid, [&](Subject& self) { CHECK(self.Leader() == leader); }));
  }
  gen::ApplicationSpec spec;
  spec.name = "app";
  spec.environment = {{"mode", "fast"}};
  spec.processes.push_back({.name = "member", .factory = Make({})});
  CHECK(t.node.LoadApplication(spec));
  CHECK(t.node.StartApplication("app"));
  const gen::PID member = t.node.Resolve("member").value();
  const auto info = t.node.ProcessInfo(member).value();
  CHECK(info.leader == info.parent);
  CHECK(info.leader != member);
  CHECK(EnvOf(t, SpawnBy(t, member)) == Values{{"mode", "fast"}});
}

class Member : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(Env("who").value_or("nobody") + Env("what").value_or(""));
  }
};
class Members : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    SetEnv("what", " work");
    return act::PoolOptions{.pool_size = 2, .worker_factory = gen::Factory<Member>()};
  }
};

TEST_CASE("environment: a pool's workers have the pool's") {
  TestNode t;
  const gen::PID pool =
      t.node.Spawn(gen::Factory<Members>(), {.environment = {{"who", "pool"}}}).value();
  CHECK(t.node.Call<std::string>(pool, 1) == "pool work");
}

struct Limits {
  int most = 0;
};

TEST_CASE("environment: values of any type, shared by all who inherit them") {
  const auto pool = std::make_shared<int>(5);
  TestNode t({.environment = {{"limits", Limits{7}}, {"pool", pool}, {"text", "words"}}});
  const Limits* inherited = nullptr;
  const gen::PID parent = t.Spawn({}, {.environment = {{"number", 3}}});
  const gen::PID child = SpawnBy(t, parent);
  CHECK(t.Run(child, [&](Subject& self) {
    CHECK(self.Env<Limits>("limits")->most == 7);
    CHECK(self.Env<std::shared_ptr<int>>("pool") == pool);
    CHECK(self.Env<int>("number") == 3);
    CHECK(self.Env("text") == "words");
    // Of another type, or not there.
    CHECK(!self.Env("number"));
    CHECK(!self.Env<int>("text"));
    CHECK(!self.Env<int>("none"));
    const auto values = self.EnvList();
    CHECK(values.at("number").TypeName() == "int");
    inherited = values.at("limits").As<Limits>();
    self.SetEnv("number", std::vector<int>{1, 2});
    CHECK(self.Env<std::vector<int>>("number")->size() == 2);
  }));
  CHECK(t.node.FindEnv("limits").As<Limits>() == inherited);  // no copy
  CHECK(!t.node.FindEnv("number"));
  CHECK(t.node.FindEnv("number").TypeName().empty());
  CHECK(pool.use_count() == 2);  // the node's, and this one
}

struct AsksForEnvironment {
  AsksForEnvironment(gen::Node& asked, int& times) : node(&asked), count(&times) {}
  ~AsksForEnvironment() { *count += static_cast<int>(node->EnvList().size()); }
  gen::Node* node;
  int* count;
};

TEST_CASE("environment: a value may ask for the node's environment while it is destroyed") {
  int seen = 0;
  TestNode t({.environment = {{"a", 1}}});
  t.node.SetEnv("b", gen::AnyValue(std::make_shared<AsksForEnvironment>(t.node, seen)));
  t.node.SetEnv("b", 2);
  CHECK(seen == 2);
}

}  // namespace
}  // namespace ergon::node
