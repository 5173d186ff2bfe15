// What one client may cost, and how an observer ends.
#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <ergon/gen/metrics.h>

#include <node/observer/observed.h>

namespace ergon::node::observer_test {

TEST_CASE("a header that is too long is refused before it has come") {
  Observed t({.max_header_bytes = 300});
  CHECK(t.Ask(GetText("/healthz", "Host: localhost\r\nX: " + std::string(200, 'x') + "\r\n"))
            .status == 200);
  kit::HttpClient client(t.port);
  (void)client.Send("GET /healthz HTTP/1.1\r\nX: " + std::string(100'000, 'x'));  // and no end
  CHECK(client.Read()->status == 431);
  CHECK(client.Ends());
  CHECK(t.Ask("GET /" + std::string(400, 'x')).status == 431);
}

TEST_CASE("a body that is too long is refused before it has come") {
  Observed t({.max_body_bytes = 10});
  CHECK(t.Ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n0123456789")
            .status == 200);
  CHECK(t.Ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\n").status ==
        413);
  CHECK(t.Ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
              "ffffffff\r\n")
            .status == 413);
}

TEST_CASE("what is no request of HTTP is refused") {
  Observed t;
  for (const char* text : {"\r\n\r\nhello\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9\r\n\r\n",
                           "GET / HTTP/1.1\r\nno colon\r\n\r\n", "\x16\x03\x01\x02\x03\x04\r\n\r\n",
                           "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"}) {
    kit::HttpClient client(t.port);
    REQUIRE(client.Send(text));
    CHECK(client.Read()->status == 400);
    CHECK(client.Ends());
  }
  CHECK(t.Get("/healthz").status == 200);
}

TEST_CASE("a request that does not come to its end is given up") {
  Observed t({.request_timeout = 20ms});
  kit::HttpClient slow(t.port);
  REQUIRE(slow.Send("GET /healthz HTTP/1.1\r\nHo"));
  CHECK(slow.Read()->status == 408);
  CHECK(slow.Ends());
  CHECK(t.EventuallyTold("connections", "0"));
}

TEST_CASE("a connection without a request ends") {
  Observed t({.idle_timeout = 20ms});
  kit::HttpClient silent(t.port);
  CHECK(silent.Ends());
  // Unless the time was up before the request had come.
  CHECK(kit::Eventually([&] {
    kit::HttpClient once(t.port);
    (void)once.Send(GetText("/healthz"));
    const auto answer = once.Read();
    return answer && answer->status == 200 && once.Ends();
  }));
  CHECK(t.EventuallyTold("connections", "0"));
}

TEST_CASE("the connection that has waited longest gives way to a new one") {
  Observed t({.max_connections = 2, .idle_timeout = 1h});
  kit::HttpClient first(t.port);
  REQUIRE(t.EventuallyTold("connections_idle", "1"));
  kit::HttpClient second(t.port);
  REQUIRE(t.EventuallyTold("connections_idle", "2"));
  REQUIRE(first.Send(GetText("/healthz")));
  CHECK(first.Read()->status == 200);
  REQUIRE(t.EventuallyTold("connections_idle", "2"));  // now the second has waited longest
  kit::HttpClient third(t.port);
  CHECK(second.Ends());
  REQUIRE(third.Send(GetText("/healthz")));
  CHECK(third.Read()->status == 200);
  REQUIRE(first.Send(GetText("/metrics")));
  CHECK(first.Read()->body.find("\nergon_observer_connections_displaced_total 1\n") !=
        std::string::npos);
}

TEST_CASE("if none waits, the connection gives way that has been longest at its request") {
  Observed t({.max_connections = 2, .request_timeout = 1h, .idle_timeout = 1h});
  kit::HttpClient first(t.port);
  REQUIRE(first.Send("GET /healthz HTTP/1.1\r\n"));
  REQUIRE(t.EventuallyTold("connections_reading", "1"));
  kit::HttpClient second(t.port);
  REQUIRE(second.Send("GET /healthz HTTP/1.1\r\n"));
  REQUIRE(t.EventuallyTold("connections_reading", "2"));
  kit::HttpClient third(t.port);
  CHECK(first.Ends());
  REQUIRE(second.Send("Host: localhost\r\n\r\n"));
  CHECK(second.Read()->status == 200);
  REQUIRE(third.Send(GetText("/healthz")));
  CHECK(third.Read()->status == 200);
}

TEST_CASE("one that waits gives way before one that is at its request") {
  Observed t({.max_connections = 2, .request_timeout = 1h, .idle_timeout = 1h});
  kit::HttpClient reading(t.port);
  REQUIRE(reading.Send("GET /healthz HTTP/1.1\r\n"));
  REQUIRE(t.EventuallyTold("connections_reading", "1"));
  kit::HttpClient waiting(t.port);
  REQUIRE(t.EventuallyTold("connections_idle", "1"));
  kit::HttpClient third(t.port);
  CHECK(waiting.Ends());
  REQUIRE(reading.Send("Host: localhost\r\n\r\n"));
  CHECK(reading.Read()->status == 200);
}

TEST_CASE("a new connection is refused when all others are being answered") {
  Observed t({.max_connections = 1, .pools_timeout = 1h});
  HeldPool held(t.StartPool(1));
  kit::HttpClient answered(t.port);
  REQUIRE(answered.Send(GetText("/metrics")));  // for which the pool is asked
  REQUIRE(kit::Eventually([&] {
    auto told = t.node.Inspect(t.observer).value();
    return told["connections"] == "1" && told["connections_idle"] == "0" &&
           told["connections_reading"] == "0";
  }));
  kit::HttpClient refused(t.port);
  const auto answer = refused.Read();
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK(answer->Header("content-type") == "text/plain; charset=utf-8");
  CHECK(answer->body == "the observer answers as many as it may (max_connections)\n");
  CHECK(refused.Ends());
  held.gate.Open();
  CHECK(answered.Read()->status == 200);
}

TEST_CASE("requests wait until those before them are answered, however small mailboxes are") {
  Observed t({.pools_timeout = 1h}, {.mailbox_size = 1});
  HeldPool held(t.StartPool(1));
  const auto are_answered = [&](const std::string& count) {
    return kit::Eventually([&] {
      auto told = t.node.Inspect(t.observer).value();
      return told["connections"] == count && told["connections_idle"] == "0" &&
             told["connections_reading"] == "0";
    });
  };
  kit::HttpClient first(t.port);
  REQUIRE(first.Send(GetText("/metrics")));  // for which the pool is asked
  REQUIRE(are_answered("1"));
  std::vector<std::unique_ptr<kit::HttpClient>> others;
  for (const char* path : {"/api/tree", "/api/tree", "/api/waits", "/api/processes", "/api/node"}) {
    others.push_back(std::make_unique<kit::HttpClient>(t.port));
    REQUIRE(others.back()->Send(GetText(path)));
    REQUIRE(are_answered(std::to_string(1 + others.size())));
  }
  held.gate.Open();
  CHECK(first.Read()->status == 200);
  for (const auto& other : others) CHECK(other->Read()->status == 200);
}

// Much more than the buffers of a connection hold. So the answer to one request is being written for as long as its
// client reads nothing: nothing depends on when somebody looks.
static void MakeLongMetrics(gen::Node& node) {
  std::vector<gen::MetricLabel> labels;
  for (int i = 0; i < 16; ++i) labels.push_back({"l" + std::to_string(i), std::string(200, '"')});
  for (int i = 0; i < 2'000; ++i) {
    labels.front().value = std::to_string(i);
    REQUIRE(node.Metrics().Gauge("long", {.help = "Long.", .labels = labels}));
  }
}

TEST_CASE("a client that does not take its answer gives way to a new one") {
  Observed t({.max_connections = 2, .answer_timeout = 1h, .idle_timeout = 1h});
  MakeLongMetrics(t.node);
  kit::HttpClient first(t.port, 4'096);
  REQUIRE(first.Send(GetText("/metrics")));
  REQUIRE(t.EventuallyTold("connections_writing", "1"));
  kit::HttpClient second(t.port, 4'096);
  REQUIRE(second.Send(GetText("/metrics")));
  REQUIRE(t.EventuallyTold("connections_writing", "2"));
  kit::HttpClient third(t.port);
  REQUIRE(third.Send(GetText("/healthz")));
  CHECK(third.Read()->status == 200);
  CHECK(t.EventuallyTold("connections_writing", "1"));
  // One that waits gives way before it.
  REQUIRE(t.EventuallyTold("connections_idle", "1"));
  kit::HttpClient fourth(t.port);
  CHECK(third.Ends());
  REQUIRE(fourth.Send(GetText("/healthz")));
  CHECK(fourth.Read()->status == 200);
  CHECK(t.EventuallyTold("connections_writing", "1"));
}

TEST_CASE("a client that does not take its answer is given up") {
  Observed t({.answer_timeout = 50ms, .idle_timeout = 1h});
  MakeLongMetrics(t.node);
  kit::HttpClient client(t.port, 4'096);
  REQUIRE(client.Send(GetText("/metrics")));
  REQUIRE(client.Begins());
  CHECK(t.EventuallyTold("connections", "0"));
}

TEST_CASE("the listener and the connections end with the observer, and the port is free") {
  Observed t({.idle_timeout = 1h});
  kit::HttpClient idle(t.port);
  kit::HttpClient busy(t.port);
  REQUIRE(busy.Send("GET /healthz HTTP/1.1\r\n"));
  REQUIRE(t.EventuallyTold("connections", "2"));
  REQUIRE(t.node.StopProcess(t.observer, kit::kDeadline));
  CHECK(t.node.Spawn(ObserverFactory({.port = t.port})));
  CHECK(idle.Ends());
  CHECK(busy.Ends());
}

TEST_CASE("a client that sends on and on does not keep an observer from its end") {
  Observed t;
  kit::HttpClient client(t.port);
  std::string many;
  for (int i = 0; i < 500; ++i) many += GetText("/healthz");
  std::atomic<int> answered{0};
  // They end with the connection, or when the test fails before that.
  const std::jthread takes([&](const std::stop_token& stops) {
    while (!stops.stop_requested() && client.Read()) ++answered;
  });
  const std::jthread sends([&](const std::stop_token& stops) {
    while (!stops.stop_requested() && client.Send(many)) {
    }
  });
  REQUIRE(kit::Eventually([&] { return answered > 1'000; }));
  CHECK(t.node.StopProcess(t.observer, kit::kDeadline));
  CHECK(kit::Eventually([&] { return t.node.Info().processes == 0; }));
}

TEST_CASE("an observer whose helper has ended ends, too, and frees its port") {
  Observed t({.idle_timeout = 1h});
  kit::HttpClient idle(t.port);
  REQUIRE(t.EventuallyTold("connections", "1"));
  const auto helpers = t.ChildrenOf(t.observer);
  REQUIRE(helpers.size() == 2);
  REQUIRE(t.node.Kill(helpers[0]));
  REQUIRE(t.node.WaitProcess(t.observer, kit::kDeadline));
  CHECK(idle.Ends());
  CHECK(t.node.Spawn(ObserverFactory({.port = t.port})));
}

TEST_CASE("a killed observer takes all with it") {
  Observed t({.idle_timeout = 1h});
  kit::HttpClient idle(t.port);
  REQUIRE(t.EventuallyTold("connections", "1"));
  REQUIRE(t.node.Kill(t.observer));
  CHECK(idle.Ends());
  CHECK(kit::Eventually([&] { return t.node.Info().processes == 0; }));
  CHECK(t.node.Spawn(ObserverFactory({.port = t.port})));
}

TEST_CASE("a node that stops does not wait for a client that does not read") {
  Observed t({.answer_timeout = 1h}, {.shutdown_timeout = 1h});
  MakeLongMetrics(t.node);
  kit::HttpClient client(t.port, 4'096);
  REQUIRE(client.Send(GetText("/metrics")));
  REQUIRE(t.EventuallyTold("connections_writing", "1"));
  kit::HttpClient slow(t.port);
  REQUIRE(slow.Send("GET /hea"));
  t.node.Stop();      // or the test takes an hour
  (void)slow.Read();  // maybe a refusal
  CHECK(slow.Ends());
}

TEST_CASE("other processes are told what an observer cannot do") {
  Observed t;
  struct Unknown {};
  CHECK(t.node.Call<bool>(t.observer, Unknown{}).error() == gen::ErrUnsupported);
  CHECK(t.node.Call<bool>(t.observer, std::int64_t{7}).error().detail() == "request integer 7");
  CHECK(t.node.Call(t.observer, GetObserverAddress{}).value().address == "127.0.0.1");
}

}  // namespace ergon::node::observer_test
