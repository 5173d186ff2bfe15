// Who is answered, with what, and what is refused.
#include <string>
#include <string_view>

#include <fcntl.h>

#include <node/observer/observed.h>

namespace ergon::node::observer_test {

TEST_CASE("an observer says that its node runs, and answers HEAD without a body") {
  Observed t;
  const auto health = t.Get("/healthz");
  CHECK(health.status == 200);
  CHECK(health.body == "ok\n");
  CHECK(health.Header("cache-control") == "no-store");
  CHECK(health.Header("x-content-type-options") == "nosniff");
  CHECK(health.Header("content-security-policy").starts_with("default-src 'none'"));
  const auto head = t.Ask("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", false);
  CHECK(head.status == 200);
  CHECK(head.Header("content-length") == "3");
  CHECK(t.Get("/healthz?verbose=1").status == 200);
  CHECK(t.node.Inspect(t.observer).value()["port"] == std::to_string(t.port));
}

TEST_CASE("requests of one connection are answered in order, also when they come together") {
  Observed t;
  kit::HttpClient client(t.port);
  REQUIRE(client.Send(GetText("/healthz") + GetText("/readyz") + GetText("/nothing")));
  CHECK(client.Read()->body == "ok\n");
  CHECK(client.Read()->body == "ready\n");
  CHECK(client.Read()->status == 404);
  REQUIRE(client.Send(GetText("/healthz", "Host: localhost\r\nConnection: close\r\n")));
  CHECK(client.Read()->status == 200);
  CHECK(client.Ends());
}

TEST_CASE("a client of HTTP/1.0 is told that the connection stays open, if it wants that") {
  Observed t;
  kit::HttpClient client(t.port);
  const std::string get = "GET /healthz HTTP/1.0\r\nHost: localhost\r\n";
  REQUIRE(client.Send(get + "Connection: keep-alive\r\n\r\n"));
  CHECK(client.Read()->Header("connection") == "keep-alive");
  REQUIRE(client.Send(get + "\r\n"));
  CHECK(client.Read()->status == 200);
  CHECK(client.Ends());
}

TEST_CASE("a node is ready while its applications run") {
  Observed t;
  CHECK(t.Get("/readyz").status == 200);
  const gen::ApplicationSpec shop{.name = "shop",
                                  .processes = {{.factory = gen::Factory<kit::Worker>(t.workers)}}};
  REQUIRE(t.node.LoadApplication(shop));
  const auto loaded = t.Get("/readyz");
  CHECK(loaded.status == 503);
  CHECK(loaded.body == "application shop: has not been started\n");
  REQUIRE(t.node.StartApplication("shop"));
  CHECK(t.Get("/readyz").body == "ready\n");
  REQUIRE(t.node.StopApplication("shop"));
  CHECK(t.Get("/readyz").status == 200);  // in order
}

TEST_CASE("a node that stops is healthy, and not ready") {
  Observed t({}, {.shutdown_timeout = 1h});  // however slow the machine is
  std::jthread stopper;  // before the gate, which opens first if something fails
  kit::ThreadGate gate;
  // Holds up the end of the node: applications end before the observer is asked to.
  const gen::ApplicationSpec busy{
      .name = "busy",
      .processes = {{.name = "worker", .factory = gen::Factory<kit::Worker>(t.workers)}}};
  REQUIRE(t.node.LoadApplication(busy));
  REQUIRE(t.node.StartApplication("busy"));
  const gen::PID worker = t.node.Resolve(gen::Atom("worker")).value();
  REQUIRE(t.node.Send(worker, kit::Job{1, kit::Block(gate)}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  stopper = std::jthread([&] { t.node.Stop(); });
  CHECK(kit::Eventually([&] { return t.Get("/readyz").status == 503; }));
  CHECK(t.Get("/readyz").body == "the node is being stopped\n");
  CHECK(t.Get("/healthz").status == 200);
  gate.Open();
}

TEST_CASE("other methods and paths are refused, and nothing of the request is told") {
  Observed t;
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"}) {
    const auto answer =
        t.Ask(std::string(method) + " /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(answer.status == 405);
    CHECK(answer.Header("allow") == "GET, HEAD");
  }
  for (const char* path : {"/index.html", "/metrics/", "/../../etc/passwd", "/%2e%2e/etc/passwd",
                           "/Metrics", "//metrics", "/metrics%00", "/<script>alert(1)</script>",
                           "http://localhost/metrics", "/healthz#x"}) {
    const auto answer = t.Get(path);
    CHECK(answer.status == 404);
    CHECK(answer.body ==
          "no such path; there are /, /metrics, /healthz, /readyz and the paths below /api/\n");
    CHECK(answer.Header("content-type") == "text/plain; charset=utf-8");
  }
}

TEST_CASE("only who calls a loopback observer by its own names is answered") {
  Observed t({.hosts = {"Observer.example"}});
  const auto status = [&](const std::string& headers) {
    return t.Ask(GetText("/healthz", headers)).status;
  };
  for (const char* host : {"localhost", "LOCALHOST:9911", "127.0.0.1", "127.0.0.1:80", "[::1]",
                           "[::1]:9911", "observer.EXAMPLE:1"}) {
    CHECK(status("Host: " + std::string(host) + "\r\n") == 200);
  }
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                           "localhost:evil", "", "127.0.0.2", "localhost@evil.example"}) {
    CHECK(status("Host: " + std::string(host) + "\r\n") == 421);
  }
  CHECK(status("") == 421);
  CHECK(status("Host: localhost\r\nHost: localhost\r\n") == 421);
  CHECK(t.Ask(GetText("/healthz", "Host: other.example\r\n")).body ==
        "the header Host does not name this observer: call it by its address, or add the name to "
        "ObserverOptions::hosts\n");
}

TEST_CASE("pages of other origins are refused, and none is ever allowed") {
  Observed t;
  const auto ask = [&](const std::string& header) {
    const auto answer = t.Ask(GetText("/healthz", "Host: localhost:9911\r\n" + header + "\r\n"));
    CHECK(answer.Header("access-control-allow-origin").empty());
    return answer.status;
  };
  CHECK(ask("Origin: http://localhost:9911") == 200);
  CHECK(ask("Origin: https://localhost:9911") == 200);
  CHECK(ask("Origin: http://localhost:8080") == 403);
  CHECK(ask("Origin: http://evil.example") == 403);
  CHECK(ask("Origin: null") == 403);
  CHECK(ask("Origin: ") == 403);
  CHECK(ask("Origin: http://localhost:9911\r\nOrigin: http://localhost:9911") == 403);
  CHECK(ask("Sec-Fetch-Site: same-origin") == 200);
  CHECK(ask("Sec-Fetch-Site: none") == 200);
  CHECK(ask("Sec-Fetch-Site: same-site") == 403);
  CHECK(ask("Sec-Fetch-Site: cross-site") == 403);
}

TEST_CASE("who follows a link to the page gets it, and other pages get nothing else") {
  Observed t;
  const auto status = [&](std::string_view path, std::string_view header) {
    return t.Ask(GetText(path, "Host: localhost\r\n" + std::string(header) + "\r\n")).status;
  };
  for (const char* site : {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"}) {
    CHECK(status("/", site) == 200);
    CHECK(status("/metrics", site) == 403);
    CHECK(status("/api/node", site) == 403);
  }
  CHECK(status("/", "Origin: http://evil.example") == 403);
}

TEST_CASE("an observer with names is called by its addresses, too, however they are written") {
  const std::string token = "0123456789abcdef";
  const auto status = [](const Observed& t, const std::string& host) {
    return t.Ask(GetText("/", "Host: " + host + "\r\n")).status;
  };
  Observed all({.address = "0.0.0.0", .token = token, .hosts = {"observer.example"}});
  for (const char* host : {"observer.example", "10.0.0.7:9911", "127.0.0.1", "[fd00::1]:9911"}) {
    CHECK(status(all, host) == 200);
  }
  for (const char* host : {"evil.example", "10.0.0.7.evil.example", "10.0.0", "[evil]", "[]"}) {
    CHECK(status(all, host) == 421);
  }
  Observed one({.address = "127.0.0.1", .hosts = {"[FD00:0::1]"}});
  CHECK(status(one, "[fd00::1]") == 200);
  CHECK(status(one, "[fd00:0:0::1]:80") == 200);
  CHECK(status(one, "[fd00::2]") == 421);
}

TEST_CASE("programs that this one starts hold neither its port nor its connections") {
  Observed t;
  kit::HttpClient client(t.port);
  REQUIRE(client.Send(GetText("/healthz")));
  CHECK(client.Read()->status == 200);
  int found = 0;
  for (int descriptor = 3; descriptor < 1'024; ++descriptor) {
    sockaddr_in own{};
    socklen_t size = sizeof own;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
    if (own.sin_family != AF_INET || ntohs(own.sin_port) != t.port) continue;
    ++found;
    CHECK((::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(found == 2);
}

TEST_CASE("with a token nothing is told without it") {
  Observed t({.address = "0.0.0.0", .token = "0123456789abcdef"});
  const auto ask = [&](const std::string& path, const std::string& header) {
    return t.Ask(GetText(path, "Host: any.example\r\n" + header));
  };
  for (const char* path : {"/metrics", "/healthz", "/readyz", "/nothing"}) {
    const auto answer = ask(path, "");
    CHECK(answer.status == 401);
    CHECK(answer.Header("www-authenticate") == "Bearer realm=\"ergon\"");
  }
  CHECK(ask("/healthz", "Authorization: Bearer 0123456789abcdef\r\n").status == 200);
  CHECK(ask("/healthz", "authorization: bearer 0123456789abcdef\r\n").status == 200);
  for (const char* wrong :
       {"Bearer 0123456789abcdeF", "Bearer 0123456789abcde", "Bearer ", "Bearer 0123456789abcdef0",
        "0123456789abcdef", "Bearer", "", "Basic 0123456789abcdef"}) {
    CHECK(ask("/healthz", "Authorization: " + std::string(wrong) + "\r\n").status == 401);
  }
  CHECK_FALSE(t.log.Contains("0123456789abcdef"));
  // Of this machine, too.
  Observed loopback({.token = "0123456789abcdef"});
  CHECK(loopback.Get("/healthz").status == 401);
}

}  // namespace ergon::node::observer_test
