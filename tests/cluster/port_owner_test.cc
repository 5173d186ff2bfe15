// Ports whose owner is a process of another node.
#include <ergon/node/port.h>

#include <cluster/cluster.h>

namespace ergon::dist {
namespace {

class Owner final : public act::Actor {};

TEST_CASE("a port whose owner is on another node says which of its messages cannot be sent there") {
  Cluster cluster("portowner");
  const gen::PID owner = cluster.b.Spawn(gen::Factory<Owner>()).value();
  const gen::PID port = cluster.a
                            .Spawn(node::Port({.program = "sh",
                                               .arguments = {"-c", "read line; echo a; echo b"},
                                               .lines = 9,
                                               .owner = owner}))
                            .value();
  cluster.a.Send(port, node::PortCloseInput{}).value();
  REQUIRE(cluster.a.WaitProcess(port, kit::kDeadline));
  // Two lines and the end of the program: nothing else has a form for other nodes by itself.
  CHECK(cluster.log_a.Count("does not take a message of the program's") == 3);
}

}  // namespace
}  // namespace ergon::dist
