// The page, and the JSON that it shows.
#include <ergon/node/observer/views/page.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/node/observer/views/process_search.h>
#include <ergon/node/observer/views/url_query.h>

#include <node/observer/json.h>
#include <node/observer/observed.h>
#include <node/subject.h>

namespace ergon::node::observer_test {

TEST_CASE("the page needs nothing from elsewhere, and no inline script may run on it") {
  Observed t;
  const auto page = t.Get("/");
  CHECK(page.status == 200);
  CHECK(page.Header("content-type") == "text/html; charset=utf-8");
  CHECK(page.Header("content-security-policy") ==
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  CHECK(page.body == PageText());
  CHECK(t.Get("/observer.js").body == PageScript());
  CHECK(t.Get("/observer.js").Header("content-type") == "text/javascript; charset=utf-8");
  CHECK(t.Get("/observer.css").body == PageStyle());
  CHECK(t.Get("/relations.js").body == PageRelations());
  for (const std::string_view text : {PageText(), PageScript(), PageRelations(), PageStyle()}) {
    CHECK(text.find("http:") == std::string_view::npos);
    CHECK(text.find("https:") == std::string_view::npos);
    CHECK(text.find("innerHTML") == std::string_view::npos);
    CHECK(text.find("eval(") == std::string_view::npos);
    CHECK(text.find(" style=") == std::string_view::npos);
  }
}

TEST_CASE("with a token the page is there for all, and nothing of the node is") {
  Observed t({.token = "0123456789abcdef"});
  CHECK(t.Get("/").status == 200);
  CHECK(t.Get("/observer.js").status == 200);
  for (const char* path : {"/api/node", "/api/pools", "/api/processes", "/api/process?pid=1",
                           "/api/tree", "/api/waits", "/api/events", "/api/cluster"}) {
    CHECK(t.Get(path).status == 401);
  }
  CHECK(t.Ask(GetText("/api/node", "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n"))
            .status == 200);
  CHECK(t.Ask(GetText("/", "Host: evil.example\r\n")).status == 421);
}

TEST_CASE("the node as JSON") {
  Observed t({.metrics_period = 0ns});
  auto pool = t.StartPool(2);
  for (int i = 0; i < 10; ++i) REQUIRE(t.node.Send(pool.pid(), kit::Job{i}));
  REQUIRE(pool.EventuallyHandled(10));
  // A worker may have to count its last message yet.
  CHECK(kit::Eventually(
      [&] { return ParseJson(t.Get("/api/node")).get<int>("messages.unaccounted") == 0; }));
  const Tree node = ParseJson(t.Get("/api/node"));
  CHECK(node.get<std::string>("node") == "test@localhost");
  CHECK(node.get<int>("dispatcher.workers") == t.node.Info().workers);
  CHECK(node.get<int>("messages.handled") >= 10);
  CHECK(node.get<int>("messages.dropped.expired") == 0);
  CHECK(node.get<double>("uptime_seconds") > 0);
  const auto behaviors = All(node, "behaviors", "behavior");
  CHECK(std::ranges::count(behaviors, "ergon::kit::ManagedPool") == 1);
}

TEST_CASE("pools as JSON, with each worker") {
  Observed t({.metrics_period = 0ns});
  auto pool = t.StartPool(2);
  kit::Gate gate(t.node);
  const auto workers = pool.Workers();
  t.HoldEach(gate, workers);
  REQUIRE(t.node.Send(workers[1], kit::Job{1}));
  Tree pools;
  REQUIRE(kit::Eventually([&] {  // a worker is at the gate a moment before it waits
    pools = ParseJson(t.Get("/api/pools"));
    return All(pools.get_child("pools").front().second, "members", "state") ==
           std::vector<std::string>{"waiting", "waiting"};
  }));
  CHECK(pools.get<int>("in_all") == 1);
  const Tree& one = pools.get_child("pools").front().second;
  CHECK(one.get<std::string>("pid") == pool.pid().ToString());
  CHECK(one.get<int>("workers") == 2);
  CHECK(one.get<int>("busy") == 2);
  const auto queued = All(one, "members", "queued");
  CHECK(std::multiset(queued.begin(), queued.end()) == std::multiset<std::string>{"0", "1"});
  gate.Open();
}

TEST_CASE("processes are sorted, searched and limited on the node") {
  Observed t;
  kit::Gate gate(t.node);
  std::vector<gen::PID> workers;
  for (int i = 0; i < 5; ++i) {
    workers.push_back(t.node.Spawn(gen::Factory<kit::Worker>(t.workers)).value());
  }
  t.HoldEach(gate, workers);
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < i; ++k) REQUIRE(t.node.Send(workers[i], kit::Job{k}));
  }
  REQUIRE(t.node.RegisterName(gen::Atom("Zebra"), workers[0]));
  REQUIRE(t.node.RegisterName(gen::Atom("adder"), workers[1]));
  const auto ids = [&](const std::string& query) {
    return All(ParseJson(t.Get("/api/processes?" + query)), "processes", "pid");
  };
  const auto pids = [&](std::initializer_list<int> places) {
    std::vector<std::string> texts;
    for (const int place : places) texts.push_back(workers[place].ToString());
    return texts;
  };
  CHECK(ids("sort=queued&search=kit::worker") == pids({4, 3, 2, 1, 0}));
  CHECK(ids("sort=queued&search=KIT%3A%3AWorker&limit=2") == pids({4, 3}));
  CHECK(ids("sort=newest&search=kit::worker&limit=3") == pids({4, 3, 2}));
  CHECK(ids("sort=name&search=kit::worker&limit=2") == pids({1, 0}));
  CHECK(ids("search=zebr") == pids({0}));
  CHECK(ids("search=%00").empty());
  const Tree found = ParseJson(t.Get("/api/processes?search=kit::worker&limit=1"));
  CHECK(found.get<int>("matching") == 5);
  CHECK(found.get<std::uint64_t>("in_all") >= 6);
  REQUIRE(kit::Eventually([&] {  // as above
    const Tree now = ParseJson(t.Get("/api/processes?search=kit::worker&limit=1"));
    return now.get_child("processes").front().second.get<std::string>("state") == "waiting";
  }));
  const Tree rows = ParseJson(t.Get("/api/processes?search=kit::worker&limit=1"));
  const Tree& row = rows.get_child("processes").front().second;
  CHECK(row.get<std::string>("handles") == "ergon::kit::Job");
  CHECK(row.get<std::string>("waits_for") == gate.pid().ToString());
  gate.Open();
}

TEST_CASE(
    "processes of behaviours beyond max_behaviors are searched, sorted and called by their own") {
  Observed t({.max_behaviors = 1});
  auto pool = t.StartPool(2);
  kit::Gate gate(t.node);
  t.HoldEach(gate, pool.Workers());
  const auto behaviors = [&](const std::string& query) {
    return All(ParseJson(t.Get("/api/processes?" + query)), "processes", "behavior");
  };
  const std::vector<std::string> workers(2, "ergon::kit::Worker");
  CHECK(behaviors("search=KIT::worker") == workers);
  CHECK(behaviors("search=kit::managedpool&sort=behavior").size() == 1);
  CHECK(behaviors("search=%28other%29").empty());
  const auto sorted = behaviors("sort=behavior&limit=1000");
  CHECK(std::ranges::is_sorted(sorted));
  CHECK(std::ranges::count(sorted, workers[0]) == 2);
  const auto in_tree = All(ParseJson(t.Get("/api/tree")), "processes", "behavior");
  CHECK(std::ranges::count(in_tree, workers[0]) == 2);
  CHECK(std::ranges::count(in_tree, "(other)") == 0);
  CHECK(kit::Eventually([&] {  // as above
    const auto waiting = All(ParseJson(t.Get("/api/waits")), "waits", "from.behavior");
    return std::ranges::count(waiting, workers[0]) == 2;
  }));
  gate.Open();
}

TEST_CASE("the observer's own processes have names that say what they are") {
  Observed t;
  const auto behaviors = [&](const std::string& text) {
    return All(ParseJson(t.Get("/api/processes?search=" + text)), "processes", "behavior");
  };
  CHECK(behaviors("observerconnection") ==
        std::vector<std::string>{"ergon::node::ObserverConnection"});
  CHECK(behaviors("anonymous").empty());
}

TEST_CASE("tables that are young are shown again, unless they are asked for in another way") {
  Observed t({.metrics_period = 1h});
  const auto count = [&](const std::string& path) {
    return ParseJson(t.Get(path)).get<int>("in_all");
  };
  const int processes = count("/api/processes?limit=2");
  const int tree = count("/api/tree?limit=2");
  const int waits = count("/api/waits");  // the connection waits for its answer
  const std::string node = t.Get("/api/node").body;
  const std::string pools = t.Get("/api/pools").body;
  auto pool = t.StartPool(2);
  kit::Gate gate(t.node);
  t.HoldEach(gate, pool.Workers());
  CHECK(count("/api/processes?limit=2") == processes);
  CHECK(count("/api/tree?limit=2") == tree);
  CHECK(count("/api/waits") == waits);
  CHECK(t.Get("/api/node").body == node);
  CHECK(t.Get("/api/pools").body == pools);
  CHECK(count("/api/processes?limit=3") >= processes + 3);
  CHECK(count("/api/tree?limit=3") >= tree + 3);
  gate.Open();
}

TEST_CASE("after an action tables are found anew") {
  const std::string header = "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n";
  Observed t({.token = "0123456789abcdef", .actions = true, .metrics_period = 1h});
  const auto found = [&] {
    const auto answer = t.Ask(GetText("/api/processes?search=kit::worker", header));
    return ParseJson(answer).get<int>("matching");
  };
  const gen::PID worker = t.node.Spawn(gen::Factory<kit::Worker>(t.workers)).value();
  CHECK(found() == 1);
  REQUIRE(t.node.Kill(worker));
  REQUIRE(kit::Eventually([&] { return !t.node.ProcessInfo(worker); }));
  CHECK(found() == 1);
  const gen::PID other = t.node.Spawn(gen::Factory<kit::Worker>(t.workers)).value();
  CHECK(
      t.Ask("POST /api/suspend?pid=" + std::to_string(other.id) + " HTTP/1.1\r\n" + header + "\r\n")
          .status == 200);
  REQUIRE(t.node.Kill(other));
  REQUIRE(kit::Eventually([&] { return !t.node.ProcessInfo(other); }));
  CHECK(found() == 0);
}

TEST_CASE("of very many processes the table has the first ones") {
  std::vector<gen::PID> all;
  Observed t;
  for (int i = 0; i < 500; ++i) {
    all.push_back(t.node.Spawn(gen::Factory<kit::Worker>(t.workers)).value());
  }
  const auto found = All(ParseJson(t.Get("/api/processes?sort=newest&search=kit::worker&limit=7")),
                         "processes", "pid");
  REQUIRE(found.size() == 7);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == all[all.size() - 1 - i].ToString());
  }
}

TEST_CASE("wrong parameters are named, and what was given is not repeated") {
  Observed t;
  const auto refused = [&](const std::string& target) {
    const auto answer = t.Get(target);
    CHECK(answer.status == 400);
    CHECK(answer.Header("content-type") == "text/plain; charset=utf-8");
    CHECK(answer.body.find("script") == std::string::npos);
    return answer.body;
  };
  CHECK(refused("/api/processes?sort=<script>") ==
        "sort: must be queued, handled, held, running, newest, name or behavior\n");
  for (const char* limit : {"0", "1001", "-1", "", "1x", "99999999999999999999"}) {
    CHECK(refused("/api/processes?limit=" + std::string(limit)) ==
          "limit: must be a number in 1..1000\n");
  }
  CHECK(refused("/api/processes?search=" + std::string(256, 'x')) ==
        "search: has more than 255 bytes\n");
  CHECK(refused("/api/processes?script=1") == "allowed parameters: sort, search, limit\n");
  for (const char* odd : {"a", "=1", "sort=%zz", "sort=%1", "sort=queued&sort=queued"}) {
    CHECK(refused("/api/processes?" + std::string(odd)) == "the parameters are malformed\n");
  }
  CHECK(refused("/api/node?script=1") == "no parameters are allowed\n");
  for (const char* pid : {"", "?pid=", "?pid=x", "?pid=0", "?pid=1&more=1"}) {
    CHECK(refused("/api/process" + std::string(pid)) ==
          "pid: must be the id of a process, as in /api/processes\n");
  }
  for (const char* creation : {"", "x", "-1"}) {
    CHECK(refused("/api/process?pid=1&creation=" + std::string(creation)) ==
          "creation: must be that in /api/node\n");
  }
  CHECK(t.Get("/api/process?pid=123456789012").status == 404);
  CHECK(t.Get("/api/nothing").status == 404);
  CHECK(t.Ask("POST /api/node HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 405);
}

TEST_CASE("names that users choose are texts in JSON") {
  Observed t;
  const auto pool = t.StartPool(1);
  const gen::Atom name("</script><script>alert(\"1\")\\\n\xff");
  REQUIRE(t.node.RegisterName(name, pool.pid()));
  const std::string clean = "</script><script>alert(\"1\")\\\n\xef\xbf\xbd";
  CHECK(
      ParseJson(t.Get("/api/pools")).get_child("pools").front().second.get<std::string>("label") ==
      clean);
  const Tree found = ParseJson(t.Get("/api/processes?search=alert"));
  CHECK(All(found, "processes", "name") == std::vector<std::string>{clean});
  const std::string id = found.get_child("processes").front().second.get<std::string>("id");
  Tree process;
  REQUIRE(kit::Eventually([&] {  // the pool has half a second to say something
    process = ParseJson(t.Get("/api/process?pid=" + id));
    return process.find("inspection") != process.not_found() &&
           !process.get_optional<std::string>("inspection.error");
  }));
  CHECK(process.get<std::string>("name") == clean);
  CHECK(process.get<std::string>("inspection.pool_size") == "1");
  CHECK(process.get<int>("links_in_all") == 1);
  CHECK(All(process, "parent", "pid").size() == 1);
}

TEST_CASE(
    "of very many items of an inspection some are told, a pool's workers last, and their number") {
  Observed t;
  const auto process = [&](gen::PID pid) {
    Tree told;
    REQUIRE(kit::Eventually([&] {  // as above
      told = ParseJson(t.Get("/api/process?pid=" + std::to_string(pid.id)));
      return told.get_child("inspection").count("error") == 0;
    }));
    return told;
  };
  const auto telling = [&](const gen::Inspection& inspection) {
    return t.node
        .Spawn(gen::Factory<Subject>(
            Handlers{.inspect = [inspection](Subject&, const auto&) { return inspection; }}))
        .value();
  };
  const gen::PID pool = t.StartPool(300).pid();
  Tree told = process(pool);
  Tree items = told.get_child("inspection");
  CHECK(items.size() == 200);
  CHECK(told.get<std::size_t>("inspection_in_all") == t.node.Inspect(pool).value().size());
  for (const auto& [key, value] : t.node.Inspect(pool).value()) {
    CAPTURE(key);
    if (!key.starts_with("worker.")) CHECK(items.count(key) == 1);
  }
  CHECK(items.count("worker.1") == 1);
  CHECK(items.count("worker.2") == 1);
  CHECK(items.count("worker.300") == 0);
  gen::Inspection many;
  for (int i = 0; i < 250; ++i) many["item." + std::to_string(i)] = "x";
  told = process(telling(many));
  CHECK(told.get_child("inspection").size() == 200);
  CHECK(told.get<int>("inspection_in_all") == 250);
  told = process(telling({{"color", "red"}, {"worker.4711", "of another kind"}}));
  CHECK(told.get_child("inspection").size() == 2);
  CHECK(told.get<int>("inspection_in_all") == 2);
}

TEST_CASE("a process that handles something for long is told of without what it says itself") {
  Observed t;
  kit::ThreadGate gate;
  const gen::PID worker = t.node.Spawn(gen::Factory<kit::Worker>(t.workers)).value();
  REQUIRE(t.node.Send(worker, kit::Job{1, kit::Block(gate)}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  const Tree process = ParseJson(t.Get("/api/process?pid=" + std::to_string(worker.id)));
  CHECK(process.get<std::string>("state") == "running");
  CHECK(process.get<std::string>("inspection.error").starts_with("time"));
  CHECK(process.get<int>("inspection_in_all") == 0);
  gate.Open();
}

}  // namespace ergon::node::observer_test
