// How lines about a process name it: as its own log lines begin.
#include <ergon/node/diagnosis/descriptions.h>

#include <cstddef>
#include <string>
#include <utility>

#include <ergon/act/pool.h>

#include <kit/supervisor.h>
#include <node/subject.h>

namespace ergon::node::descriptions_test {
namespace {

// A pool with one worker, and a child that is none.
class PoolWithChild : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    SpawnRegister("pools_child", Make({})).value();
    return act::PoolOptions{.pool_size = 1,
                            .worker_factory = Make({.init = [](Subject& self, const gen::Args&) {
                              self.SetLogLevel(gen::LogLevel::kTrace);
                              self.RegisterName("pools_worker").value();
                              return gen::Continue();
                            }})};
  }
};

// How a line of the node names a process, and how the process's own lines do.
struct Names {
  std::string in_node_line;
  std::string in_own_line;
};
Names NamesOf(TestNode& t, gen::Atom name) {
  const auto last_before = [&](const std::string& text) {
    const std::string line = t.log.Lines().back().text;
    const std::size_t end = line.find(text);
    REQUIRE(end != std::string::npos);
    return line.substr(line.find('<'), end - line.find('<'));
  };
  const gen::PID pid = t.node.Resolve(name).value();
  CHECK(t.node.SetProcessLogLevel(pid, gen::LogLevel::kWarning));
  const std::string by_node = last_before(": log_level: ");
  CHECK(t.Run(pid, [](Subject& self) { self.Log().Error("own"); }));
  return {by_node, last_before(": own")};
}

TEST_CASE("descriptions: only workers are told to be of a pool") {
  TestNode t;
  t.node.SpawnRegister("described_pool", gen::Factory<PoolWithChild>()).value();
  // A worker is one from its Init on, when its pool has no workers yet.
  CHECK(t.log.Count(" ergon::node::Subject of pool 'described_pool': log_level: trace") == 1);

  const Names worker = NamesOf(t, "pools_worker");
  CHECK(worker.in_own_line.ends_with(
      " 'pools_worker' ergon::node::Subject of pool 'described_pool'"));
  CHECK(worker.in_node_line == worker.in_own_line);

  const Names child = NamesOf(t, "pools_child");
  CHECK(child.in_own_line.ends_with(" 'pools_child' ergon::node::Subject"));
  CHECK(child.in_node_line == child.in_own_line);
}

TEST_CASE("descriptions: a supervisor's child, which is of no pool") {
  TestNode t;
  act::SupervisorSpec spec;
  spec.children = {{.name = "supervised_child", .factory = Make({})}};
  t.node.Spawn(kit::MakeSupervisor(std::move(spec))).value();
  const Names child = NamesOf(t, "supervised_child");
  CHECK(child.in_own_line.ends_with(" 'supervised_child' ergon::node::Subject"));
  CHECK(child.in_node_line == child.in_own_line);
}

}  // namespace
}  // namespace ergon::node::descriptions_test
