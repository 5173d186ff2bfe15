// Keys of processes of another node, when the connection to it is lost and made again.
#include <ergon/gen/key_registry.h>

#include <memory>

#include <doctest/doctest.h>

#include <kit/gate.h>

#include <cluster/cluster.h>

namespace ergon::dist::key_registry_test {
namespace {

class Idle : public act::Actor {};

TEST_CASE("key registry: a key that is given when a node is connected again stays") {
  kit::ThreadGate gate;
  Cluster cluster("keys");
  const gen::Atom b = cluster.b.Name();
  auto keys = gen::KeyRegistry<int, std::shared_ptr<void>>::Start(cluster.a).value();
  const gen::PID remote = cluster.b.Spawn(gen::Factory<Idle>()).value();
  // Returns when the registry's process has handled what was there before.
  const auto pass = [&](int key) {
    const gen::PID local = cluster.a.Spawn(gen::Factory<Idle>()).value();
    CHECK(keys.Register(key, local));
    CHECK(cluster.a.Kill(local));
    CHECK(kit::Eventually([&] { return !keys.Find(key); }));
  };
  CHECK(keys.Register(1, remote));
  pass(2);
  // It is held while a value is destroyed.
  const gen::PID holds = cluster.a.Spawn(gen::Factory<Idle>()).value();
  CHECK(keys.Register(3, holds, std::shared_ptr<void>(&gate, [](void* held) {
                        static_cast<kit::ThreadGate*>(held)->Enter();
                      })));
  CHECK(cluster.a.Kill(holds));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  InProcess(cluster.a, [&](gen::Process& self) {
    CHECK(self.Monitor(remote));
    CHECK(Disconnect(cluster.a, b));
    CHECK(self.Receive<gen::MessageDownPID>(kit::kDeadline));
  });
  CHECK(kit::Eventually([&] { return Ping(cluster.a, b).has_value(); }));
  CHECK(keys.Find(1));  // nobody has seen the loss yet
  CHECK(keys.Register(4, remote));
  gate.Open();
  pass(5);
  CHECK_FALSE(keys.Find(1));
  REQUIRE(keys.Find(4));
  CHECK(keys.Find(4)->pid == remote);
  CHECK(cluster.b.Kill(remote));
  CHECK(kit::Eventually([&] { return !keys.Find(4); }));
}

}  // namespace
}  // namespace ergon::dist::key_registry_test
