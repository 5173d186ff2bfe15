// A node with an observer, and its clients.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include <ergon/node/observer.h>

#include <kit/http_client.h>
#include <kit/node_fixture.h>

namespace ergon::node::observer_test {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

// The tester's environment is none of the tests'. Before main: while there are threads nobody may write it.
inline const bool kNoTokenFromOutside = ::unsetenv("ERGON_OBSERVER_TOKEN") == 0;

inline ObserverOptions AnyPort(ObserverOptions options = {}) {
  options.port = 0;
  // However slow the machine is, pools answer in time, unless the test is about that.
  if (options.pools_timeout == ObserverOptions().pools_timeout) options.pools_timeout = 10min;
  // A test sees what it has done, unless it is about what is told again.
  if (options.metrics_period == ObserverOptions().metrics_period) options.metrics_period = 0ns;
  return options;
}

inline std::string GetText(std::string_view path, std::string_view more = "Host: localhost\r\n") {
  return "GET " + std::string(path) + " HTTP/1.1\r\n" + std::string(more) + "\r\n";
}

struct Observed : kit::NodeFixture {
  explicit Observed(ObserverOptions options = {}, gen::NodeOptions node_options = {})
      : NodeFixture(std::move(node_options)),
        observer(node.Spawn(ObserverFactory(AnyPort(std::move(options)))).value()),
        port(node.Call(observer, GetObserverAddress{}).value().port) {}

  // In a connection of its own.
  [[nodiscard]] kit::HttpAnswer Ask(const std::string& request, bool has_body = true) const {
    kit::HttpClient client(port);
    REQUIRE(client.Send(request));
    auto answer = client.Read(has_body);
    REQUIRE(answer);
    return *answer;
  }
  [[nodiscard]] kit::HttpAnswer Get(std::string_view path) const { return Ask(GetText(path)); }
  [[nodiscard]] bool EventuallyTold(const std::string& key, const std::string& value) {
    return kit::Eventually([&] { return node.Inspect(observer).value()[key] == value; });
  }

  gen::PID observer;
  int port;
};

// While this is there, a pool is in a handler, until the gate is open.
struct HeldPool {
  explicit HeldPool(kit::PoolHandle pool) {
    holder = std::jthread([pool, enter = gate.Holder()]() mutable {
      (void)pool.Run<bool>([enter](kit::ManagedPool&) {
        enter();
        return true;
      });
    });
    REQUIRE(kit::Eventually([this] { return gate.Entered() == 1; }));
  }

  std::jthread holder;  // before the gate, which opens first if something fails
  kit::ThreadGate gate;
};

}  // namespace ergon::node::observer_test
