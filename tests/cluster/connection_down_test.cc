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

// A process here that is linked with one on another node. Both trap exits.
class LinkedPair {
 public:
  LinkedPair(const std::string& name, const std::string& other_name)
      : a(name), b(Cluster::Start(other_name, log_, ClusterOptions())) {
    Run([&](node::Subject& self) { CHECK(self.Link(other)); });
    REQUIRE(kit::Eventually([&] { return IsLinkedThere(); }));
  }
  ~LinkedPair() { b.Stop(); }

  // Runs `does` in the process here.
  void Run(std::function<void(node::Subject&)> does) {
    CHECK(a.node.Call<bool>(pid, node::Do{std::move(does)}, node::kPatient));
  }
  [[nodiscard]] bool IsLinkedThere() const { return b.ProcessInfo(other)->links.size() == 1; }
  // Ends the connection. Its loss is being told then, until `a.loses` is opened.
  void LoseConnection() {
    CHECK(Disconnect(a.node, b.Name()));
    REQUIRE(kit::Eventually([&] { return a.loses.Entered() == 1; }));
  }

 private:
  kit::LogCapture log_;

 public:
  Words here;  // the reasons of the exit signals
  Words there;
  SlowToTell a;
  node::Node b;
  const gen::PID pid = a.node.Spawn(NotesExits(here)).value();
  const gen::PID other = b.Spawn(NotesExits(there)).value();
};

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
  LinkedPair pair("relinks@127.0.0.1", "relinked@127.0.0.1");
  pair.LoseConnection();
  pair.Run([&](node::Subject& self) {
    CHECK(self.Unlink(pair.other));
    CHECK(self.Link(pair.other));
  });
  pair.a.loses.Open();
  const std::vector<std::string> lost = {"noconnection"};
  REQUIRE(kit::Eventually([&] { return pair.there.All() == lost && pair.IsLinkedThere(); }));
  pair.Run([](node::Subject&) {});
  CHECK(pair.here.All().empty());
  CHECK(pair.a.node.ProcessInfo(pair.pid)->links == std::vector{pair.other});
  CHECK(pair.a.node.Send(pair.pid, node::End{gen::Reason::Error("has done its work")}));
  CHECK(kit::Eventually([&] { return pair.there.size() == 2; }));
  CHECK(pair.there.All().back().find("has done its work") != std::string::npos);
}

TEST_CASE("connection down: a link that is not made anew is lost, and told of once") {
  LinkedPair pair("keeps_link@127.0.0.1", "kept_link@127.0.0.1");
  pair.LoseConnection();
  // There is a next connection, which does not know the link: it was there already.
  pair.Run([&](node::Subject& self) {
    CHECK(self.Link(pair.other));
    CHECK(self.Send(pair.other, Line{1, ""}));
  });
  pair.a.loses.Open();
  CHECK(kit::Eventually([&] { return pair.there.size() == 2; }));
  CHECK(kit::Eventually([&] { return pair.here.size() == 1; }));
  CHECK(pair.here.All() == std::vector<std::string>{"noconnection"});
  CHECK(pair.a.node.ProcessInfo(pair.pid)->links.empty());
}

}  // namespace ergon::dist::connection_down_test
