// What is lost with a connection, and what is not.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/node/observer.h>

#include <cluster/cluster.h>
#include <kit/gate.h>
#include <kit/http_client.h>
#include <node/subject.h>

namespace ergon::dist::connection_down_test {
namespace {

// A node that holds its thread of the network at each line that says that a connection is lost: that one is out of the
// table then, and nobody is told of it yet.
class SlowToTell {
 public:
  explicit SlowToTell(const std::string& name) : node(Start(name, loses.Holder())) {}
  ~SlowToTell() {
    loses.Open();
    node.Stop();
    kit::CheckBalance(node);
  }

  kit::ThreadGate loses;
  node::Node node;

 private:
  static node::Node Start(const std::string& name, const std::function<void()>& holds) {
    gen::NodeOptions options;
    options.network = Erlang(ClusterOptions());
    options.types.Register<Line>();
    options.log_sink = [holds](gen::LogLevel, const std::string& text) {
      if (text.find("network: no connection with") != std::string::npos) holds();
    };
    gen::Result<node::Node> started = gen::ErrNoConnection;
    // EPMD may be slow to answer, or not know yet that a node of this name has ended.
    (void)kit::Eventually([&] {
      started = node::Start(name, options);
      return started ||
             (started.error() != gen::ErrNoConnection && started.error() != gen::ErrTaken);
    });
    return std::move(started).value();
  }
};

using Words = node::Notes<std::string>;

// Traps exits, and notes their reasons.
gen::ProcessFactory NotesExits(Words& reasons) {
  return node::Make({.init =
                         [](node::Subject& self, const gen::Args&) {
                           self.SetTrapExit(true);
                           return gen::Continue();
                         },
                     .message =
                         [&reasons](node::Subject&, gen::PID, gen::Message& message) {
                           const auto* exit = message.As<gen::MessageExitPID>();
                           reasons.Add(exit == nullptr ? std::string(message.TypeName())
                                                       : exit->reason.ToString());
                           return gen::Continue();
                         }});
}

}  // namespace

TEST_CASE("connection down: messages that are lost with it are dropped, and no counter goes down") {
  kit::LogCapture log;
  node::Node node = TryStart("down@127.0.0.1", log).value();
  const gen::PID observer =
      node.Spawn(node::ObserverFactory({.port = 0, .metrics_period = {}})).value();
  const int port = node.Call(observer, node::GetObserverAddress{}).value().port;
  constexpr std::uint64_t kMessages = 3;
  for (std::uint64_t i = 1; i <= kMessages; ++i) {
    CHECK(node.Send(gen::ProcessID{"any", "nobody@127.0.0.1"}, 1));
    REQUIRE(kit::Eventually([&] { return node.MessageBalance().dropped_no_connection == i; }));
    CHECK(node.MessageBalance().sent_to_nodes == 0);
    kit::HttpClient client(port);
    REQUIRE(client.Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    const std::string metrics = client.Read().value().body;
    CHECK(metrics.find("\nergon_messages_sent_to_nodes_total " + std::to_string(i) + "\n") !=
          std::string::npos);
  }
}

TEST_CASE(
    "connection down: a link that is made anew while the loss is being told holds on both sides") {
  Words here;
  Words there;
  kit::LogCapture log;
  SlowToTell a("relinks@127.0.0.1");
  node::Node b = Cluster::Start("relinked@127.0.0.1", log, ClusterOptions());
  const gen::PID pid = a.node.Spawn(NotesExits(here)).value();
  const gen::PID other = b.Spawn(NotesExits(there)).value();
  const auto run = [&](std::function<void(node::Subject&)> does) {
    CHECK(a.node.Call<bool>(pid, node::Do{std::move(does)}, node::kPatient));
  };
  const auto is_linked_there = [&] { return b.ProcessInfo(other)->links.size() == 1; };
  run([&](node::Subject& self) { CHECK(self.Link(other)); });
  REQUIRE(kit::Eventually(is_linked_there));
  CHECK(Disconnect(a.node, b.Name()));
  REQUIRE(kit::Eventually([&] { return a.loses.Entered() == 1; }));
  run([&](node::Subject& self) {
    CHECK(self.Unlink(other));
    CHECK(self.Link(other));
  });
  a.loses.Open();
  const std::vector<std::string> lost = {"noconnection"};
  REQUIRE(kit::Eventually([&] { return there.All() == lost && is_linked_there(); }));
  run([](node::Subject&) {});
  CHECK(here.All().empty());
  CHECK(a.node.ProcessInfo(pid)->links == std::vector{other});
  CHECK(a.node.Send(pid, node::End{gen::Reason::Error("has done its work")}));
  CHECK(kit::Eventually([&] { return there.size() == 2; }));
  CHECK(there.All().back().find("has done its work") != std::string::npos);
  b.Stop();
}

TEST_CASE("connection down: a link that is not made anew is lost, and told of once") {
  Words here;
  Words there;
  kit::LogCapture log;
  SlowToTell a("keeps_link@127.0.0.1");
  node::Node b = Cluster::Start("kept_link@127.0.0.1", log, ClusterOptions());
  const gen::PID pid = a.node.Spawn(NotesExits(here)).value();
  const gen::PID other = b.Spawn(NotesExits(there)).value();
  const auto run = [&](std::function<void(node::Subject&)> does) {
    CHECK(a.node.Call<bool>(pid, node::Do{std::move(does)}, node::kPatient));
  };
  run([&](node::Subject& self) { CHECK(self.Link(other)); });
  REQUIRE(kit::Eventually([&] { return b.ProcessInfo(other)->links.size() == 1; }));
  CHECK(Disconnect(a.node, b.Name()));
  REQUIRE(kit::Eventually([&] { return a.loses.Entered() == 1; }));
  // There is a next connection, which does not know the link: it was there already.
  run([&](node::Subject& self) {
    CHECK(self.Link(other));
    CHECK(self.Send(other, Line{1, ""}));
  });
  a.loses.Open();
  CHECK(kit::Eventually([&] { return there.size() == 2; }));
  CHECK(kit::Eventually([&] { return here.size() == 1; }));
  CHECK(here.All() == std::vector<std::string>{"noconnection"});
  CHECK(a.node.ProcessInfo(pid)->links.empty());
  b.Stop();
}

}  // namespace ergon::dist::connection_down_test
