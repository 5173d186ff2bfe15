// What becomes of messages that a connection was given when it is lost.
#include <string>

#include <doctest/doctest.h>

#include <ergon/node/observer.h>

#include <cluster/cluster.h>
#include <kit/http_client.h>

namespace ergon::dist::connection_down_test {

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

}  // namespace ergon::dist::connection_down_test
