// What an observer changes, and for whom.
#include <ergon/node/observer/http/actions.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include <node/observer/json.h>
#include <node/observer/observed.h>

namespace ergon::node::observer_test {

static constexpr const char* kToken = "0123456789abcdef";

static ObserverOptions WithActions() { return {.token = kToken, .actions = true}; }
static std::string PostText(const std::string& path, const std::string& more) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n" + more + "\r\n";
}
static const std::string kAuthorized = std::string("Authorization: Bearer ") + kToken + "\r\n";

struct Acting : Observed {
  Acting() : Observed(WithActions()) {}
  [[nodiscard]] kit::HttpAnswer Post(const std::string& path) const {
    return Ask(PostText(path, kAuthorized));
  }
  [[nodiscard]] gen::PID Worker() { return node.Spawn(gen::Factory<kit::Worker>(workers)).value(); }
};

// With a worker that waits at a gate.
struct Holding : Acting {
  Holding() { HoldEach(gate, {worker}); }
  kit::Gate gate{node};
  const gen::PID worker = Worker();
};

static std::string Of(std::string_view action, gen::PID pid) {
  return "/api/" + std::string(action) + "?pid=" + std::to_string(pid.id);
}

static constexpr const char* kPaths[] = {"/api/stop", "/api/kill", "/api/suspend", "/api/resume",
                                         "/api/resize"};

TEST_CASE("an observer changes nothing unless its options say so, and never without a token") {
  Observed reading({.token = kToken});
  Observed open({.actions = true});
  for (const std::string path : kPaths) {
    const auto refused = reading.Ask(PostText(path + "?pid=1", kAuthorized));
    CHECK(refused.status == 403);
    CHECK(refused.body == "actions are off: ObserverOptions::actions\n");
    const auto without = open.Ask(PostText(path + "?pid=1", ""));
    CHECK(without.status == 403);
    CHECK(without.body ==
          "actions need a token: ObserverOptions::token, token_file or the environment's "
          "ERGON_OBSERVER_TOKEN\n");
  }
  CHECK_FALSE(ParseJson(open.Get("/api/node")).get<bool>("actions"));
}

TEST_CASE("who has not the token, or comes from a page of another origin, changes nothing") {
  Acting t;
  const gen::PID worker = t.Worker();
  const std::string kill = Of("kill", worker);
  CHECK(t.Ask(PostText(kill, "")).status == 401);
  CHECK(t.Ask(PostText(kill, "Authorization: Bearer 0123456789abcdeF\r\n")).status == 401);
  for (const char* header :
       {"Origin: http://evil.example\r\n", "Origin: null\r\n", "Origin: http://localhost:8080\r\n",
        "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n"}) {
    const auto refused = t.Ask(PostText(kill, kAuthorized + header));
    CHECK(refused.status == 403);
    CHECK(refused.body == "requests from other origins are refused\n");
  }
  CHECK(
      t.Ask("POST " + kill + " HTTP/1.1\r\nHost: evil.example\r\n" + kAuthorized + "\r\n").status ==
      421);
  CHECK(t.IsAlive(worker));
  CHECK(t.Ask(PostText(kill, kAuthorized + "Origin: http://localhost\r\n")).status == 200);
  CHECK(t.EventuallyGone(worker));
}

TEST_CASE("actions are done by POST only") {
  Acting t;
  const gen::PID worker = t.Worker();
  for (const char* method : {"GET", "HEAD", "PUT", "DELETE"}) {
    const auto refused = t.Ask(std::string(method) + " " + Of("kill", worker) +
                                   " HTTP/1.1\r\nHost: localhost\r\n" + kAuthorized + "\r\n",
                               std::string_view(method) != "HEAD");
    CHECK(refused.status == 405);
    CHECK(refused.Header("allow") == "POST");
  }
  CHECK(t.IsAlive(worker));
}

TEST_CASE("a process is killed, with its messages") {
  Holding t;
  REQUIRE(t.node.Send(t.worker, kit::Job{1}));
  CHECK(t.Post(Of("kill", t.worker)).body == "done\n");
  REQUIRE(t.node.WaitProcess(t.worker, kit::kDeadline));
  CHECK(t.node.Info().dropped_terminated == 1);
  CHECK(t.log.Contains("kill of " + t.worker.ToString() + ": asked for over HTTP, and done"));
  CHECK(t.Post(Of("kill", t.worker)).status == 404);
  t.gate.Open();
}

TEST_CASE("an action is logged at each log level of the node but off") {
  for (const gen::LogLevel level : {gen::LogLevel::kPanic, gen::LogLevel::kOff}) {
    Observed t(WithActions(), {.log_level = level});
    const gen::PID worker = t.node.Spawn(gen::Factory<kit::Worker>(t.workers)).value();
    CHECK(t.Ask(PostText(Of("kill", worker), kAuthorized)).status == 200);
    CHECK(t.log.Contains("kill of " + worker.ToString() + ": asked for over HTTP, and done") ==
          (level != gen::LogLevel::kOff));
  }
}

TEST_CASE("a process that is stopped handles first what waits") {
  Holding t;
  REQUIRE(t.node.Send(t.worker, kit::Job{7}));
  CHECK(t.Post(Of("stop", t.worker)).status == 200);  // at once
  CHECK(t.IsAlive(t.worker));
  t.gate.Open();
  REQUIRE(t.node.WaitProcess(t.worker, kit::kDeadline));
  CHECK(t.node.Info().dropped_terminated == 0);
  CHECK(t.node.Info().processes_failed == 0);
}

TEST_CASE("a process is suspended and goes on") {
  Acting t;
  const gen::PID worker = t.Worker();
  CHECK(t.Post(Of("suspend", worker)).status == 200);
  CHECK(t.node.ProcessInfo(worker)->suspended);
  REQUIRE(t.node.Send(worker, kit::Job{1}));
  CHECK(t.Post(Of("resume", worker)).status == 200);
  CHECK_FALSE(t.node.ProcessInfo(worker)->suspended);
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(worker)->messages_handled == 1; }));
}

// What waits is a signal, which has no type.
TEST_CASE("while a process that is busy is to be suspended, the waits can be looked at") {
  Holding t;
  std::thread asks([&] { (void)t.Post(Of("suspend", t.worker)); });
  CHECK(kit::Eventually([&] {
    const auto waits = t.node.WaitForGraph();
    return std::ranges::any_of(waits, [&](const gen::WaitEdge& wait) {
      return wait.to == t.worker && wait.message == "a signal";
    });
  }));
  CHECK(t.Ask(GetText("/api/waits", "Host: localhost\r\n" + kAuthorized)).body.find("a signal") !=
        std::string::npos);
  t.gate.Open();
  asks.join();
}

TEST_CASE("a pool grows and shrinks") {
  Acting t;
  auto pool = t.StartPool(2);
  CHECK(t.Post(Of("resize", pool.pid()) + "&workers=5").status == 200);
  CHECK(pool.Size() == 5);
  CHECK(t.Post(Of("resize", pool.pid()) + "&workers=1").status == 200);
  CHECK(pool.Size() == 1);
  for (const char* workers : {"0", "10001", "-1", "x", ""}) {
    const auto refused = t.Post(Of("resize", pool.pid()) + "&workers=" + workers);
    CHECK(refused.status == 400);
    CHECK(refused.body.find("workers: must be a number in 1..10000") != std::string::npos);
  }
  CHECK(t.Post(Of("resize", pool.pid())).status == 400);
  CHECK(pool.Size() == 1);
  const auto refused = t.Post(Of("resize", t.Worker()) + "&workers=2");
  CHECK(refused.status == 409);
  CHECK(refused.body.find("it is no pool") != std::string::npos);
  CHECK(ParseJson(t.Ask(GetText("/api/node", "Host: localhost\r\n" + kAuthorized)))
            .get<bool>("actions"));
}

TEST_CASE("an id of another run of the program is nobody's, if its creation is told") {
  Acting t;
  const auto get = [&](const std::string& path) {
    return t.Ask(GetText(path, "Host: localhost\r\n" + kAuthorized));
  };
  const std::uint32_t creation = t.node.Info().creation;
  CHECK(ParseJson(get("/api/node")).get<std::uint32_t>("creation") == creation);
  const gen::PID worker = t.Worker();
  auto pool = t.StartPool(2);
  const std::string other = "&creation=" + std::to_string(creation ^ 1U);
  const auto check_refused = [](const kit::HttpAnswer& answer) {
    CHECK(answer.status == 404);
    CHECK(answer.body ==
          "the process was one of another run of the program: creation is not that in "
          "/api/node\n");
  };
  for (const char* action : {"stop", "kill", "suspend", "resume"}) {
    check_refused(t.Post(Of(action, worker) + other));
  }
  check_refused(t.Post(Of("resize", pool.pid()) + "&workers=1" + other));
  check_refused(get(Of("process", worker) + other));
  CHECK_FALSE(t.node.ProcessInfo(worker)->suspended);
  CHECK(pool.Size() == 2);

  const std::string same = "&creation=" + std::to_string(creation);
  CHECK(get(Of("process", worker) + same).status == 200);
  CHECK(t.Post(Of("resize", pool.pid()) + "&workers=1" + same).status == 200);
  CHECK(pool.Size() == 1);
  CHECK(t.Post(Of("kill", worker) + same).status == 200);
  CHECK(t.EventuallyGone(worker));
}

TEST_CASE("an action that is malformed, or for nobody, changes nothing") {
  Acting t;
  for (const std::string path : kPaths) {
    for (const char* query :
         {"", "?pid=", "?pid=x", "?pid=0", "?pid=1&pid=1", "?pid=1&more=1", "?pid=%zz",
          "?pid=1&workers=1&more=1", "?pid=1&creation=x", "?pid=1&workers=1&creation="}) {
      CHECK(t.Post(path + query).status == 400);
    }
  }
  for (const char* action : {"stop", "kill", "suspend", "resume"}) {
    CHECK(t.Post("/api/" + std::string(action) + "?pid=123456789012").status == 404);
  }
  CHECK(t.Post("/api/resize?workers=1&pid=123456789012").status == 404);
}

}  // namespace ergon::node::observer_test
