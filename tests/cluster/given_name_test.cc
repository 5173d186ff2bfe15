// Nodes to which others give a name, and such as nobody connects to.
#include <string>

#include <cluster/cluster.h>

namespace ergon::dist {
namespace {

gen::PID SpawnAdder(node::Node& node) {
  return node
      .Spawn([](gen::Process& self) {
        while (auto asked = self.Receive<gen::Asked<Sum>>(1min)) {
          std::int64_t sum = 0;
          for (const int number : asked->value.numbers) sum += number;
          (void)self.Reply(*asked, sum);
        }
      })
      .value();
}

TEST_CASE("given name: a node starts with it, connects, calls and is called") {
  Cluster cluster("given_");
  ErlangOptions options = ClusterOptions();
  options.listen = false;
  const auto name = AskForName("127.0.0.1", cluster.b.Name().ToString(), options);
  REQUIRE(name);
  CHECK(name->ends_with("@127.0.0.1"));
  CHECK(AskForName("127.0.0.1", cluster.b.Name().ToString(), options).value() != *name);
  kit::LogCapture log;
  auto named = TryStart(*name, log, options).value();
  CHECK(log.Count("listening") == 0);

  REQUIRE(cluster.b.RegisterName("adder", SpawnAdder(cluster.b)));
  CHECK(named.Call(cluster.OnB("adder"), Sum{{1, 2, 3}}).value() == 6);
  CHECK(cluster.b.Call(SpawnAdder(named), Sum{{4, 5}}).value() == 9);
  // Nobody else finds it.
  CHECK(cluster.a.Call(SpawnAdder(named), Sum{{4, 5}}).error() == gen::ErrNoConnection);
  named.Stop();
  kit::CheckBalance(named);
}

TEST_CASE("given name: what cannot be is an error that says why") {
  Cluster cluster("given_not_");
  const std::string other = cluster.b.Name().ToString();
  ErlangOptions wrong = ClusterOptions();
  wrong.cookie = "other";
  CHECK(AskForName("127.0.0.1", other, wrong).error() == gen::ErrNotAllowed);
  CHECK(AskForName("127.0.0.1", "nobody@127.0.0.1", ClusterOptions()).error() ==
        gen::ErrNoConnection);
  CHECK(AskForName("a b", other, ClusterOptions()).error() == gen::ErrIncorrect);
  CHECK(AskForName("", other, ClusterOptions()).error() == gen::ErrIncorrect);
  CHECK_FALSE(AskForName("short", other, ClusterOptions()));
}

}  // namespace
}  // namespace ergon::dist
