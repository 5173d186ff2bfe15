#include <ergon/node/observer/http/settings.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include <node/observer/observed.h>

namespace ergon::node::observer_test {

constexpr const char* kGoodToken = "0123456789abcdef";

// Why an observer with these options does not start; empty: it does.
static std::string WhyNot(const ObserverOptions& options) {
  kit::NodeFixture fixture;
  const auto spawned = fixture.node.Spawn(ObserverFactory(AnyPort(options)));
  return spawned ? "" : std::string(spawned.error().detail());
}
static bool Refuses(const ObserverOptions& options, std::string_view text) {
  const auto checked = CheckObserverOptions(options);
  if (checked) return false;
  if (checked.error().detail() != text) MESSAGE(checked.error().detail());
  return checked.error() == gen::ErrIncorrect && checked.error().detail() == text;
}

TEST_CASE("each option of an observer is checked, and named with its value") {
  CHECK(Refuses({.address = "localhost"}, "address: \"localhost\" is no address of IPv4 or IPv6"));
  CHECK(Refuses({.port = 65'536}, "port: 65536 is outside 0..65535"));
  CHECK(Refuses({.port = -1}, "port: -1 is outside 0..65535"));
  CHECK(Refuses({.max_connections = 0}, "max_connections: 0 is outside 1..10000"));
  CHECK(Refuses({.max_header_bytes = 255}, "max_header_bytes: 255 is outside 256..1048576"));
  CHECK(Refuses({.max_body_bytes = -1}, "max_body_bytes: -1 is outside 0..1048576"));
  CHECK(Refuses({.max_behaviors = 0}, "max_behaviors: 0 is outside 1..10000"));
  CHECK(Refuses({.max_pools = 10'001}, "max_pools: 10001 is outside 1..10000"));
  CHECK(Refuses({.request_timeout = 0ns}, "request_timeout: 0 is outside 1ms..60min"));
  CHECK(Refuses({.answer_timeout = -1ns}, "answer_timeout: -1ns is outside 1ms..60min"));
  CHECK(Refuses({.idle_timeout = 2h}, "idle_timeout: 120min is outside 1ms..60min"));
  CHECK(Refuses({.pools_timeout = 999'999ns}, "pools_timeout: 999999ns is outside 1ms..60min"));
  CHECK(Refuses({.metrics_period = -1ns}, "metrics_period: -1ns is outside 0..60min"));
  CHECK(Refuses({.hosts = {"here", "here:80"}},
                "hosts[1]: \"here:80\" is no name of a host without a port"));
  CHECK(Refuses({.hosts = {""}}, "hosts[0]: \"\" is no name of a host without a port"));
  CHECK(CheckObserverOptions({}));
}

TEST_CASE("a wrong option is the error of an observer's spawn") {
  CHECK(WhyNot({.max_connections = 0}) == "max_connections: 0 is outside 1..10000");
  CHECK(WhyNot({}).empty());
}

TEST_CASE("an address that is not loopback needs a token") {
  for (const char* address : {"0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1"}) {
    CHECK(Refuses({.address = address},
                  "address: \"" + std::string(address) +
                      "\" is no loopback address, and there is no token: set token, token_file "
                      "or the environment's ERGON_OBSERVER_TOKEN"));
    CHECK(CheckObserverOptions({.address = address, .token = kGoodToken}));
  }
  for (const char* address : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"}) {
    CHECK(CheckObserverOptions({.address = address}));
  }
}

TEST_CASE("a token comes from the option, a file or the environment, and no error tells it") {
  CHECK(Refuses({.token = "short"}, "token: the token has 5 characters, must have 16..1024"));
  CHECK(Refuses({.token = "0123456789abcde "},
                "token: character 16 of the token is a space or no visible ASCII"));
  CHECK(Refuses({.token = kGoodToken, .token_file = "/there"},
                "token_file: \"/there\", but token is given too"));
  CHECK(Refuses({.token_file = "/no/such/file"},
                "token_file: \"/no/such/file\": No such file or directory"));
  const auto path = std::filesystem::temp_directory_path() /
                    ("ergon-observer-token-" + std::to_string(::getpid()));
  std::ofstream(path) << kGoodToken << "\n";
  CHECK(CheckObserverOptions({.token_file = path}).value().token == kGoodToken);
  std::ofstream(path) << std::string(1'026, 'x');
  CHECK(Refuses({.token_file = path}, "token_file: \"" + path.string() +
                                          "\": the token has 1026 characters, must have 16..1024"));
  std::ofstream(path).flush();
  CHECK(Refuses({.token_file = path}, "token_file: \"" + path.string() + "\": it is empty"));
  std::filesystem::remove(path);

  ::setenv("ERGON_OBSERVER_TOKEN", "environment-token", 1);
  CHECK(CheckObserverOptions({}).value().token == "environment-token");
  CHECK(CheckObserverOptions({.token = kGoodToken}).value().token == kGoodToken);
  ::setenv("ERGON_OBSERVER_TOKEN", "", 1);
  CHECK(Refuses({},
                "environment, ERGON_OBSERVER_TOKEN: the token has 0 characters, must have "
                "16..1024"));
  ::unsetenv("ERGON_OBSERVER_TOKEN");
  CHECK(CheckObserverOptions({}).value().token.empty());
}

TEST_CASE("a port that is taken is the error of the spawn") {
  Observed t;
  const auto second = t.node.Spawn(ObserverFactory({.port = t.port}));
  REQUIRE_FALSE(second);
  CHECK(second.error().detail() ==
        "address: \"127.0.0.1\", port: " + std::to_string(t.port) + ": Address already in use");
}

}  // namespace ergon::node::observer_test
