// The tree, the waits, the events and the groups, as JSON.
#include <ergon/node/observer/views/relation_views.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <node/observer/json.h>
#include <node/observer/observed.h>
#include <node/subject.h>

namespace ergon::node::observer_test {

using Names = std::vector<std::string>;

static std::string IdOf(gen::PID pid) { return std::to_string(pid.id); }
static Names Texts(const std::vector<gen::PID>& pids) {
  Names texts;
  for (const gen::PID pid : pids) texts.push_back(pid.ToString());
  return texts;
}
// Runs a function in a subject's turn.
static void RunIn(gen::Node& node, gen::PID subject, std::function<void(Subject&)> function) {
  REQUIRE(node.Call<bool>(subject, Do{std::move(function)}, {.timeout = kit::kDeadline}));
}
static gen::PID Start(gen::Node& node, Handlers handlers = {}) {
  return node.Spawn(gen::Factory<Subject>(std::move(handlers))).value();
}
static gen::PID StartBelow(gen::Node& node, gen::PID parent, bool linked) {
  gen::PID child;
  RunIn(node, parent, [&](Subject& self) {
    child = self.Spawn(gen::Factory<Subject>(Handlers{}), {.link_parent = linked}).value();
  });
  return child;
}

TEST_CASE("the tree has each process before its children, and its links") {
  Observed t;
  const gen::PID top = Start(t.node);
  const gen::PID first = StartBelow(t.node, top, true);
  const gen::PID second = StartBelow(t.node, top, false);
  const gen::PID below = StartBelow(t.node, second, true);
  REQUIRE(t.node.RegisterName("boss", top));
  const Tree whole = ParseJson(t.Get("/api/tree"));
  const Names pids = All(whole, "processes", "pid");
  const auto begin = std::ranges::find(pids, top.ToString());
  REQUIRE(pids.end() - begin >= 4);
  // Those with children first.
  CHECK(Names(begin, begin + 4) == Texts({top, second, below, first}));
  const auto at = static_cast<std::size_t>(begin - pids.begin());
  const Names depths = All(whole, "processes", "depth");
  CHECK(Names(depths.begin() + at, depths.begin() + at + 4) == Names{"0", "1", "2", "1"});
  CHECK(All(whole, "processes", "name")[at] == "boss");
  CHECK(All(whole, "processes", "children")[at] == "2");
  const auto& row = std::next(whole.get_child("processes").begin(), begin - pids.begin())->second;
  CHECK(row.get<int>("links_in_all") == 1);
  CHECK(All(row, "links", "pid") == Texts({first}));

  const Tree part = ParseJson(t.Get("/api/tree?root=" + IdOf(second)));
  CHECK(All(part, "processes", "pid") == Texts({second, below}));
  CHECK(part.get<int>("at_top") == 1);
  // All of the node, not of the part; the process of the former connection may not have ended yet.
  CHECK(part.get<int>("in_all") >= 4);
  CHECK(All(ParseJson(t.Get("/api/tree?root=" + IdOf(second) + "&limit=1")), "processes", "pid") ==
        Texts({second}));
}

TEST_CASE("a process whose parent has ended is at the top of the tree") {
  Observed t;
  const gen::PID parent = Start(t.node);
  const gen::PID child = StartBelow(t.node, parent, false);
  REQUIRE(t.node.StopProcess(parent, kit::kDeadline));
  const Tree tree = ParseJson(t.Get("/api/tree"));
  const Names pids = All(tree, "processes", "pid");
  const auto found = std::ranges::find(pids, child.ToString());
  REQUIRE(found != pids.end());
  CHECK(All(tree, "processes", "depth")[static_cast<std::size_t>(found - pids.begin())] == "0");
}

TEST_CASE("of very many processes the tree has some, those with children first") {
  Observed t;
  for (int i = 0; i < 500; ++i) (void)Start(t.node);
  const gen::PID boss = Start(t.node);
  const gen::PID child = StartBelow(t.node, boss, true);
  const Tree tree = ParseJson(t.Get("/api/tree?limit=20"));
  const Names pids = All(tree, "processes", "pid");
  CHECK(pids.size() <= 20);
  CHECK(std::ranges::count(pids, boss.ToString()) == 1);
  CHECK(std::ranges::count(pids, child.ToString()) == 1);
  CHECK(tree.get<int>("at_top") >= 501);
  CHECK(All(ParseJson(t.Get("/api/tree?limit=1000")), "processes", "pid").size() >= 500);
}

TEST_CASE("wrong parameters of the tree are named") {
  Observed t;
  CHECK(t.Get("/api/tree?limit=0").body == "limit: must be a number in 1..1000\n");
  CHECK(t.Get("/api/tree?limit=1001").status == 400);
  CHECK(t.Get("/api/tree?root=x").body == "root: must be the id of a process\n");
  CHECK(t.Get("/api/tree?script=1").body == "allowed parameters: root, limit\n");
  // One that has ended, or never was.
  CHECK(t.Get("/api/tree?root=123456789012").status == 404);
  CHECK(t.Get("/api/tree?root=123456789012").body == "there is no such process\n");
  for (const char* path : {"/api/waits", "/api/events", "/api/cluster"}) {
    CHECK(t.Get(std::string(path) + "?limit=1").status == 400);
  }
}

TEST_CASE("waits are told with their circles, the circles first") {
  Observed t;
  kit::Gate gate(t.node);
  const gen::PID a = Start(
      t.node, {.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::NoReply(); }});
  const gen::PID b = Start(
      t.node, {.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::NoReply(); }});
  const auto call = [&](gen::PID from, gen::PID to) {
    REQUIRE(t.node.Send(from, Do{[to](Subject& self) {
                          (void)self.Call<int>(to, 1, {.timeout = gen::kInfinite});
                        }}));
  };
  const auto waits = [&] { return ParseJson(t.Get("/api/waits")); };
  const gen::PID worker = t.node.Spawn(gen::Factory<kit::Worker>(t.workers)).value();
  t.HoldEach(gate, {worker});  // waits the longest, and is in no circle
  const auto has_wait = [&](gen::PID from, bool certain) {
    const Tree all = waits();
    const auto& list = all.get_child("waits");
    return std::ranges::any_of(list, [&](const auto& wait) {
      return wait.second.template get<std::string>("from.pid") == from.ToString() &&
             wait.second.template get<bool>("certain") == certain;
    });
  };
  REQUIRE(kit::Eventually([&] { return has_wait(worker, false); }));
  CHECK(waits().get<int>("circles") == 0);
  call(a, b);
  // The request is left open: it is no deadlock, for somebody else may answer.
  REQUIRE(kit::Eventually([&] { return has_wait(a, false); }));
  CHECK(waits().get<int>("circles") == 0);
  call(b, a);
  REQUIRE(kit::Eventually([&] { return waits().get<int>("circles") == 1; }));
  const Tree all = waits();
  Names circles = All(all, "waits", "circle");
  REQUIRE(circles.size() >= 3);
  CHECK(Names(circles.begin(), circles.begin() + 3) == Names{"1", "1", "0"});
  Names from = All(all, "waits", "from.pid");
  std::sort(from.begin(), from.begin() + 2);
  Names both = Texts({a, b});
  std::ranges::sort(both);
  CHECK(Names(from.begin(), from.begin() + 2) == both);
  CHECK(from[2] == worker.ToString());
  CHECK(All(all, "waits", "to.pid")[2] == gate.pid().ToString());
  CHECK(All(all, "waits", "message")[0] == "int");
  CHECK(All(all, "waits", "from.behavior")[0] == "ergon::node::Subject");
  REQUIRE(t.node.Kill(a));
  REQUIRE(t.node.Kill(b));
  CHECK(kit::Eventually([&] { return waits().get<int>("circles") == 0; }));
  gate.Open();
}

TEST_CASE("events and groups are told by name") {
  Observed t;
  const gen::PID producer = Start(t.node);
  const gen::PID subscriber = Start(t.node);
  RunIn(t.node, producer, [](Subject& self) {
    const gen::Ref token = self.RegisterEvent("prices", {.buffer = 3}).value();
    CHECK(self.SendEvent("prices", token, 1).value() == 0);
    CHECK(self.RegisterEvent("a <script>"));
  });
  RunIn(t.node, subscriber, [](Subject& self) {
    CHECK(self.MonitorEvent({"prices", {}}).value().size() == 1);
  });
  REQUIRE(t.node.JoinGroup("readers", subscriber));
  REQUIRE(t.node.JoinGroup("readers", producer));
  const Tree told = ParseJson(t.Get("/api/events"));
  const Names events = All(told, "events", "name");
  CHECK(told.get<std::size_t>("events_in_all") == events.size());
  CHECK(std::ranges::is_sorted(events));
  CHECK(std::ranges::count(events, "a <script>") == 1);
  const auto at = static_cast<std::size_t>(std::ranges::find(events, "prices") - events.begin());
  REQUIRE(at < events.size());
  CHECK(All(told, "events", "pid")[at] == producer.ToString());
  CHECK(All(told, "events", "subscribers")[at] == "1");
  CHECK(All(told, "events", "subscribers_elsewhere")[at] == "0");
  CHECK(All(told, "events", "published")[at] == "1");
  CHECK(All(told, "events", "buffered")[at] == "1");
  CHECK(All(told, "events", "buffer")[at] == "3");
  CHECK(told.get<int>("groups_in_all") == 1);
  const Tree& group = told.get_child("groups").front().second;
  CHECK(group.get<std::string>("name") == "readers");
  CHECK(group.get<int>("members_in_all") == 2);
  CHECK(group.get<int>("members_here") == 2);
  CHECK(All(group, "members", "pid") == Texts({subscriber, producer}));
}

TEST_CASE("links by a name are told with the others, at both ends, in the tree as of the process") {
  Observed t;
  const gen::PID named = Start(t.node);
  const gen::PID other = Start(t.node);
  const gen::PID linker = Start(t.node);
  REQUIRE(t.node.RegisterName("b", named));
  RunIn(t.node, linker, [&](Subject& self) {
    CHECK(self.Link(other));
    CHECK(self.Link(gen::Atom("b")));
  });
  RunIn(t.node, other, [&](Subject& self) { CHECK(self.Monitor(gen::Atom("b"))); });
  const auto check = [&](gen::PID pid, const Names& links) {
    const Tree tree = ParseJson(t.Get("/api/tree?root=" + IdOf(pid)));
    const Tree& row = tree.get_child("processes").front().second;
    const Tree process = ParseJson(t.Get("/api/process?pid=" + IdOf(pid)));
    CHECK(All(row, "links", "pid") == links);
    CHECK(All(process, "links", "pid") == links);
    CHECK(row.get<std::size_t>("links_in_all") == links.size());
    CHECK(process.get<std::size_t>("links_in_all") == links.size());
  };
  check(linker, Texts({other, named}));
  check(named, Texts({linker}));
  check(other, Texts({linker}));
}

TEST_CASE("of very many links the first ones are told, and their number") {
  Observed t;
  constexpr std::size_t kLinks = 150;
  const gen::PID hub = Start(t.node);
  const gen::PID named = Start(t.node);
  REQUIRE(t.node.RegisterName("named", named));
  std::vector<gen::PID> linked;
  for (std::size_t i = 0; i < kLinks; ++i) linked.push_back(StartBelow(t.node, hub, true));
  RunIn(t.node, hub, [&](Subject& self) { CHECK(self.Link(gen::Atom("named"))); });
  const Names links = Texts(linked);
  const Tree tree = ParseJson(t.Get("/api/tree?root=" + IdOf(hub)));
  const Tree& row = tree.get_child("processes").front().second;
  CHECK(All(row, "links", "pid") == Names(links.begin(), links.begin() + 20));
  CHECK(row.get<std::size_t>("links_in_all") == kLinks + 1);
  const Tree process = ParseJson(t.Get("/api/process?pid=" + IdOf(hub)));
  CHECK(All(process, "links", "pid") == Names(links.begin(), links.begin() + 100));
  CHECK(process.get<std::size_t>("links_in_all") == kLinks + 1);
}

TEST_CASE("what is told of events, connections and processes is told again while it is young") {
  std::atomic<int> inspections{0};
  Observed t({.metrics_period = 1h});
  const gen::PID asked = Start(t.node, {.inspect = [&](Subject&, const std::vector<std::string>&) {
                                 ++inspections;
                                 return gen::Inspection{{"color", "red"}};
                               }});
  const std::string events = t.Get("/api/events").body;
  const std::string cluster = t.Get("/api/cluster").body;
  const std::string process = t.Get("/api/process?pid=" + IdOf(asked)).body;
  CHECK(process.find("red") != std::string::npos);
  RunIn(t.node, asked, [](Subject& self) { CHECK(self.RegisterEvent("prices")); });
  CHECK(t.Get("/api/events").body == events);
  CHECK(t.Get("/api/cluster").body == cluster);
  CHECK(t.Get("/api/process?pid=" + IdOf(asked)).body == process);
  CHECK(inspections == 1);
  // Another one is another question.
  CHECK(t.Get("/api/process?pid=" + IdOf(t.observer)).status == 200);
  CHECK(t.Get("/api/process?pid=123456789012").status == 404);
}

TEST_CASE("each process of an observer can be looked at, also the one that looks") {
  Observed t;
  int looked_at = 0;
  const Tree tree = ParseJson(t.Get("/api/tree?root=" + IdOf(t.observer)));
  for (const std::string& id : All(tree, "processes", "id")) {
    const auto answer = t.Get("/api/process?pid=" + id);
    if (answer.status == 404) continue;  // a connection that has ended
    CHECK(ParseJson(answer).get<std::string>("inspection.error", "") == "");
    ++looked_at;
  }
  CHECK(looked_at >= 3);
}

TEST_CASE("a node without a network has no connections to tell of") {
  Observed t;
  CHECK(ParseJson(t.Get("/api/cluster")).get<int>("in_all") == 0);
}

}  // namespace ergon::node::observer_test
