// Groups whose members are on two Ergon nodes. What an Erlang node sees of them: cluster_test.escript.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <ergon/act/pool.h>
#include <ergon/gen/group.h>

#include <cluster/cluster.h>
#include <cluster/erlang_peer.h>

namespace ergon::dist {
namespace {

using PIDs = std::vector<gen::PID>;

// A member of groups, which counts what it gets.
class Member : public act::Actor {
 public:
  explicit Member(std::shared_ptr<std::atomic<int>> got = std::make_shared<std::atomic<int>>(0))
      : got_(std::move(got)) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (!message.Is<Line>()) return Actor::HandleMessage(from, message);
    ++*got_;
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (request.Is<Sum>()) return gen::Reply(std::int64_t{1});
    return Actor::HandleCall(from, ref, request);
  }
  const std::shared_ptr<std::atomic<int>> got_;
};

class MemberPool : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    CHECK(JoinGroup("thumbnails"));
    return act::PoolOptions{.pool_size = 2, .worker_factory = gen::Factory<Member>()};
  }
};

// What one who monitors a group is told, and what it makes of that: who is in it.
class Monitor {
 public:
  Monitor(gen::Node& node, gen::Atom group) {
    auto seen = seen_;
    pid_ = node.Spawn([seen, group](gen::Process& self) {
                 const auto members = self.MonitorGroup(group).value();
                 {
                   std::lock_guard lock(seen->mutex);
                   seen->members.insert(members.begin(), members.end());
                   seen->ready = true;
                 }
                 for (;;) {
                   auto got = self.Receive<gen::MessageGroupJoined, gen::MessageGroupLeft>(1h);
                   if (!got) return;
                   std::lock_guard lock(seen->mutex);
                   if (const auto* joined = std::get_if<gen::MessageGroupJoined>(&*got)) {
                     for (const gen::PID pid : joined->pids) seen->members.insert(pid);
                     seen->notices.emplace_back("joined", joined->pids);
                   } else {
                     const auto& left = std::get<gen::MessageGroupLeft>(*got);
                     for (const gen::PID pid : left.pids) {
                       const auto found = seen->members.find(pid);
                       if (found == seen->members.end()) {
                         seen->wrong = true;  // twice, or never there
                       } else {
                         seen->members.erase(found);
                       }
                     }
                     seen->notices.emplace_back("left", left.pids);
                   }
                 }
               })
               .value();
    REQUIRE(kit::Eventually([&] {
      std::lock_guard lock(seen_->mutex);
      return seen_->ready;
    }));
  }
  using Notices = std::vector<std::pair<std::string, PIDs>>;
  [[nodiscard]] Notices notices() const {
    std::lock_guard lock(seen_->mutex);
    return seen_->notices;
  }
  [[nodiscard]] PIDs Members() const {
    std::lock_guard lock(seen_->mutex);
    CHECK_FALSE(seen_->wrong);
    return {seen_->members.begin(), seen_->members.end()};
  }
  [[nodiscard]] bool Told(const Notices& expected) const {
    return kit::Eventually([&] { return notices().size() >= expected.size(); }) &&
           notices() == expected;
  }

 private:
  struct Seen {
    std::mutex mutex;
    bool ready = false;
    bool wrong = false;
    std::multiset<gen::PID> members;
    Notices notices;
  };
  std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  gen::PID pid_;
};

PIDs Sorted(PIDs pids) {
  std::sort(pids.begin(), pids.end());
  return pids;
}

bool Becomes(const gen::Node& node, gen::Atom group, const PIDs& members) {
  const PIDs sorted = Sorted(members);
  return kit::Eventually([&] { return Sorted(node.GroupMembers(group)) == sorted; });
}

}  // namespace

TEST_CASE("cluster groups: join, leave and end are the same on both nodes") {
  Cluster cluster("groups");
  const gen::PID early = cluster.a.Spawn(gen::Factory<Member>()).value();
  REQUIRE(cluster.a.JoinGroup("web", early));
  REQUIRE(Ping(cluster.b, cluster.a.Name()));
  CHECK(Becomes(cluster.b, "web", {early}));
  const gen::PID there = cluster.b.Spawn(gen::Factory<Member>()).value();
  REQUIRE(cluster.b.JoinGroup("web", there));
  REQUIRE(cluster.b.JoinGroup("web", there));
  REQUIRE(cluster.b.JoinGroup("api", there));
  CHECK(Becomes(cluster.a, "web", {early, there, there}));
  CHECK(Becomes(cluster.a, "api", {there}));
  CHECK(cluster.a.Groups() == std::vector<gen::Atom>{"api", "web"});
  REQUIRE(cluster.b.LeaveGroup("web", there));
  CHECK(Becomes(cluster.a, "web", {early, there}));
  // Of its own node alone.
  CHECK(cluster.a.JoinGroup("web", there).error() == gen::ErrUnsupported);
  CHECK(cluster.a.LeaveGroup("web", there).error() == gen::ErrUnsupported);
  REQUIRE(cluster.b.Kill(there));
  CHECK(Becomes(cluster.a, "web", {early}));
  CHECK(Becomes(cluster.a, "api", {}));
  REQUIRE(cluster.a.Kill(early));
  CHECK(Becomes(cluster.b, "web", {}));
  CHECK(kit::Eventually([&] { return cluster.b.Groups().empty(); }));
}

TEST_CASE("cluster groups: who learns of an end there does not find the process in the group") {
  Cluster cluster("ends");
  REQUIRE(Ping(cluster.a, cluster.b.Name()));
  for (int round = 0; round < 20; ++round) {
    const gen::PID there = cluster.b.Spawn(gen::Factory<Member>()).value();
    REQUIRE(cluster.b.JoinGroup("web", there));
    REQUIRE(Becomes(cluster.a, "web", {there}));
    std::atomic<int> members{-1};
    std::atomic<bool> ready{false};
    cluster.a
        .Spawn([&](gen::Process& self) {
          self.Monitor(there).value();
          (void)self.Call(there, Sum{});
          ready = true;
          if (!self.Receive<gen::MessageDownPID>(1h)) return;
          members = static_cast<int>(self.GroupMembers("web").size());
        })
        .value();
    REQUIRE(kit::Eventually([&] { return ready.load(); }));
    REQUIRE(cluster.b.Kill(there));
    REQUIRE(kit::Eventually([&] { return members != -1; }));
    CHECK(members == 0);
  }
}

TEST_CASE("cluster groups: who monitors one sees members of the other node, each change once") {
  Cluster cluster("watchgroups");
  const gen::PID there = cluster.b.Spawn(gen::Factory<Member>()).value();
  const gen::PID other = cluster.b.Spawn(gen::Factory<Member>()).value();
  REQUIRE(cluster.b.JoinGroup("web", there));
  const Monitor monitor(cluster.a, "web");
  CHECK(monitor.Members().empty());
  REQUIRE(Ping(cluster.a, cluster.b.Name()));
  CHECK(monitor.Told({{"joined", {there}}}));
  REQUIRE(cluster.b.JoinGroup("web", there));
  REQUIRE(cluster.b.JoinGroup("web", other));
  REQUIRE(cluster.b.LeaveGroup("web", there));
  REQUIRE(cluster.b.JoinGroup("web", there));
  REQUIRE(cluster.b.Kill(there));
  const Monitor::Notices until_end = {{"joined", {there}}, {"joined", {there}},
                                      {"joined", {other}}, {"left", {there}},
                                      {"joined", {there}}, {"left", {there, there}}};
  CHECK(monitor.Told(until_end));
  // The connection: gone at once and once, and there again.
  REQUIRE(Disconnect(cluster.a, cluster.b.Name()));
  Monitor::Notices expected = until_end;
  expected.emplace_back("left", PIDs{other});
  CHECK(monitor.Told(expected));
  CHECK(cluster.a.GroupMembers("web").empty());
  REQUIRE(Ping(cluster.a, cluster.b.Name()));
  expected.emplace_back("joined", PIDs{other});
  CHECK(monitor.Told(expected));
  // Its end.
  cluster.b.Stop();
  expected.emplace_back("left", PIDs{other});
  CHECK(monitor.Told(expected));
}

TEST_CASE("cluster groups: sends to all, to one, and calls, wherever the members are") {
  Cluster cluster("sendgroups");
  const auto got_here = std::make_shared<std::atomic<int>>(0);
  const auto got_there = std::make_shared<std::atomic<int>>(0);
  const gen::PID here = cluster.a.Spawn(gen::Factory<Member>(got_here)).value();
  const gen::PID there = cluster.b.Spawn(gen::Factory<Member>(got_there)).value();
  REQUIRE(cluster.a.JoinGroup("web", here));
  REQUIRE(cluster.b.JoinGroup("web", there));
  REQUIRE(Ping(cluster.a, cluster.b.Name()));
  REQUIRE(Becomes(cluster.a, "web", {here, there}));
  for (int i = 0; i < 100; ++i) CHECK(cluster.a.SendToGroup("web", Line{i, "text"}).value() == 2);
  std::map<gen::PID, int> turns;
  for (int i = 0; i < 100; ++i) ++turns[cluster.a.SendToOneOf("web", Line{i, "text"}).value()];
  CHECK(turns == std::map<gen::PID, int>{{here, 50}, {there, 50}});
  CHECK(kit::Eventually([&] { return *got_here == 150 && *got_there == 150; }));
  for (int i = 0; i < 10; ++i)
    CHECK(cluster.a.Call(cluster.a.OneOf("web").value(), Sum{}).value() == 1);
  // What cannot go to another node goes to nobody.
  struct Local {};
  const auto refused = cluster.a.SendToGroup("web", Local{});
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == gen::ErrUnsupported);
  CHECK(refused.error().ToString().find("Local") != std::string::npos);
  REQUIRE(cluster.b.LeaveGroup("web", there));
  REQUIRE(Becomes(cluster.a, "web", {here}));
  CHECK(cluster.a.SendToGroup("web", Line{}).value() == 1);
}

TEST_CASE("cluster groups: a node for which too much waits does not get it, which is counted") {
  ErlangOptions options = ClusterOptions();
  options.send_queue_bytes = 1024;
  Cluster cluster("busygroups", options);
  const auto got = std::make_shared<std::atomic<int>>(0);
  const auto got_here = std::make_shared<std::atomic<int>>(0);
  const gen::PID there = cluster.b.Spawn(gen::Factory<Member>(got)).value();
  const gen::PID here = cluster.a.Spawn(gen::Factory<Member>(got_here)).value();
  REQUIRE(cluster.b.JoinGroup("web", there));
  REQUIRE(cluster.a.JoinGroup("web", here));
  REQUIRE(Ping(cluster.a, cluster.b.Name()));
  REQUIRE(Becomes(cluster.a, "web", {here, there}));
  const std::string text(10'000, 'x');
  int received = 0;
  int sent = 0;
  for (; sent < 100'000 && cluster.a.MessageBalance().dropped_mailbox_full == 0; ++sent) {
    received += static_cast<int>(cluster.a.SendToGroup("web", Line{sent, text}).value());
  }
  CHECK(cluster.a.MessageBalance().dropped_mailbox_full == 1);
  CHECK(received == 2 * sent - 1);
  CHECK(kit::Eventually([&] { return *got + *got_here == received; }));
  // One that is passed by for want of room: the other takes it.
  bool other_has_taken_it = false;
  for (int i = 0; i < 100'000 && !other_has_taken_it; ++i) {
    const gen::PID first = cluster.a.SendToOneOf("web", Line{i, text}).value();
    const gen::PID second = cluster.a.SendToOneOf("web", Line{i, text}).value();
    other_has_taken_it = first == second;
    received += 2;
  }
  CHECK(other_has_taken_it);
  CHECK(kit::Eventually([&] { return *got + *got_here == received; }));
}

TEST_CASE("cluster groups: pools on three nodes are one group") {
  Cluster cluster("pools");
  kit::LogCapture log;
  auto third = TryStart("poolsc@127.0.0.1", log).value();
  PIDs pools;
  for (node::Node* const node : {&cluster.a, &cluster.b, &third}) {
    pools.push_back(node->Spawn(gen::Factory<MemberPool>()).value());
  }
  REQUIRE(Ping(cluster.a, cluster.b.Name()));
  REQUIRE(Ping(cluster.b, third.Name()));
  REQUIRE(Ping(third, cluster.a.Name()));
  for (const node::Node* const node : {&cluster.a, &cluster.b, &third}) {
    CHECK(Becomes(*node, "thumbnails", pools));
  }
  std::map<gen::PID, int> answers;
  for (int i = 0; i < 30; ++i) {
    const gen::PID pool = cluster.a.OneOf("thumbnails").value();
    if (cluster.a.Call(pool, Sum{{i}}).value() == 1) ++answers[pool];
  }
  CHECK(answers == std::map<gen::PID, int>{{pools[0], 10}, {pools[1], 10}, {pools[2], 10}});
  // One that ends is left out.
  third.Stop();
  CHECK(Becomes(cluster.a, "thumbnails", {pools[0], pools[1]}));
  CHECK(Becomes(cluster.b, "thumbnails", {pools[0], pools[1]}));
  kit::CheckBalance(third);
}

TEST_CASE("cluster groups: while connections come and go, nothing is told twice or is missing") {
  Cluster cluster("flicker");
  const Monitor on_a(cluster.a, "web");
  const Monitor on_b(cluster.b, "web");
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (node::Node* const node : {&cluster.a, &cluster.b}) {
    for (int thread = 0; thread < 2; ++thread) {
      threads.emplace_back([&, node, thread] {
        std::mt19937 random(static_cast<unsigned>(thread));
        PIDs members;
        while (!stop || members.size() < 3) {
          const auto choice = random() % 4;
          if (members.size() < 3 || (choice == 0 && members.size() < 10)) {
            members.push_back(node->Spawn(gen::Factory<Member>()).value());
            CHECK(node->JoinGroup("web", members.back()));
          } else if (choice == 1) {
            CHECK(node->Kill(members.back()));
            members.pop_back();
          } else if (choice == 2) {
            CHECK(node->LeaveGroup("web", members.front()));
            CHECK(node->JoinGroup("web", members.front()));
          } else {
            (void)node->SendToGroup("web", Line{1, "text"});
          }
        }
      });
    }
  }
  for (int cut = 0; cut < kit::Scaled(40, 2); ++cut) {
    REQUIRE(kit::Eventually([&] { return Ping(cluster.a, cluster.b.Name()).has_value(); }));
    std::this_thread::sleep_for(5ms);
    (void)Disconnect(cut % 2 == 0 ? cluster.a : cluster.b,
                     cut % 2 == 0 ? cluster.b.Name() : cluster.a.Name());
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  REQUIRE(kit::Eventually([&] { return Ping(cluster.a, cluster.b.Name()).has_value(); }));
  CHECK(kit::Eventually([&] {
    const PIDs seen_on_a = Sorted(cluster.a.GroupMembers("web"));
    return seen_on_a.size() >= 12 && seen_on_a == Sorted(cluster.b.GroupMembers("web")) &&
           seen_on_a == on_a.Members() && seen_on_a == on_b.Members();
  }));
  // A process that was killed may not have ended yet.
  CHECK(kit::Eventually([&] {
    const PIDs members = cluster.a.GroupMembers("web");
    return std::all_of(members.begin(), members.end(), [&](gen::PID pid) {
      const node::Node& home = pid.node == cluster.a.Name() ? cluster.a : cluster.b;
      return home.ProcessInfo(pid).has_value();
    });
  }));
}

TEST_CASE("cluster groups: a process may have the name pg, and gets what is no message of groups") {
  Cluster cluster("scope");
  const auto got = std::make_shared<std::atomic<int>>(0);
  cluster.b.SpawnRegister("pg", gen::Factory<Member>(got)).value();
  REQUIRE(Ping(cluster.a, cluster.b.Name()));
  const gen::PID here = cluster.a.Spawn(gen::Factory<Member>()).value();
  REQUIRE(cluster.a.JoinGroup("web", here));
  CHECK(Becomes(cluster.b, "web", {here}));
  CHECK(cluster.a.Send(cluster.OnB("pg"), Line{1, "text"}));
  CHECK(kit::Eventually([&] { return *got == 1; }));
}

TEST_CASE("cluster groups: a pg that does not answer is asked in each quarter of the tick time") {
  NodeForPeers t("asks_pg", 1s);
  ErlangPeer peer(t.node, "has_no_pg@127.0.0.1", t.port());
  for (int i = 0; i < 7; ++i) {  // a pause that went on growing would have 6 s by then
    const int before = peer.ticks();
    CHECK(peer.Await(SignalKind::kSendToName).name == "pg");
    // In each quarter of the time in which nothing else is sent there is one.
    CHECK(peer.ticks() - before <= 1);
    peer.Tick();
  }
}

}  // namespace ergon::dist
