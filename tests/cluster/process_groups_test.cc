// The protocol of groups without sockets: what two nodes know of each other, whatever comes between.
#include <ergon/node/cluster/groups/process_groups.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/node/cluster/signals/references.h>

#include <cluster/terms.h>
#include <kit/one_thread.h>

namespace ergon::dist::process_groups_test {
namespace {

using PIDs = std::vector<gen::PID>;

class Lines final : public gen::LogSink {
 public:
  [[nodiscard]] gen::LogLevel Level() const override { return gen::LogLevel::kTrace; }
  void Write(gen::LogLevel, std::string_view text) override { lines.emplace_back(text); }
  std::vector<std::string> lines;
};

// The groups of a node, as far as they have members of others; and what those who monitor them are told.
class Members final : public node::RemoteMembers {
 public:
  std::vector<std::uint64_t> JoinFromAfar(gen::Atom group, const PIDs& remote) override {
    CHECK_FALSE(remote.empty());
    std::vector<std::uint64_t> memberships;
    for (const gen::PID pid : remote) {
      all_[{group, ++newest_}] = pid;
      memberships.push_back(newest_);
    }
    notices.push_back({true, group, remote});
    return memberships;
  }
  void LeaveFromAfar(gen::Atom group, const std::vector<std::uint64_t>& memberships) override {
    CHECK_FALSE(memberships.empty());
    PIDs left;
    for (const std::uint64_t membership : memberships) {
      const auto found = all_.find({group, membership});
      REQUIRE(found != all_.end());  // nobody leaves twice
      left.push_back(found->second);
      all_.erase(found);
    }
    notices.push_back({false, group, left});
  }
  [[nodiscard]] MembersByGroup Known() const {
    MembersByGroup known;
    for (const auto& [key, pid] : all_) known[key.first].insert(pid);
    return known;
  }

  struct Notice {
    bool joined;
    gen::Atom group;
    PIDs pids;
    friend bool operator==(const Notice&, const Notice&) = default;
  };
  std::vector<Notice> notices;

 private:
  std::map<std::pair<gen::Atom, std::uint64_t>, gen::PID> all_;
  std::uint64_t newest_ = 0;
};

// A signal that outlives what it was made of.
struct Sent {
  SignalKind kind = SignalKind::kUnknown;
  gen::PID to;
  std::string name;
  std::string ref;
  std::string payload;
};

// One node, and what it has sent and nobody has got yet.
struct Side {
  explicit Side(const char* name, std::size_t max_new_atoms = 1000,
                std::size_t max_frame_bytes = 1024 * 1024)
      : node(name),
        self{1, node, 7},
        atoms(std::make_shared<AtomBudget>(max_new_atoms)),
        groups({.members = members,
                .atoms = *atoms,
                .log = log,
                .self = self,
                .max_term_depth = 64,
                .max_frame_bytes = max_frame_bytes,
                .send =
                    [this](gen::Atom, const Signal& signal) {
                      if (!connected) return;
                      out.push_back({signal.kind, signal.to, std::string(signal.name),
                                     std::string(signal.ref), std::string(signal.payload)});
                    },
                .remind = [this] { ++reminders; },
                .not_believed = [this](gen::Atom, gen::PID pid) { not_believed.push_back(pid); }}) {
  }

  [[nodiscard]] gen::PID Process(std::uint64_t id) const { return {id, node, 7}; }
  void Join(gen::Atom group, gen::PID pid) {
    local[group].insert(pid);
    groups.Joined(group, pid);
  }
  void Leave(gen::Atom group, gen::PID pid) {
    auto& pids = local[group];
    pids.erase(pids.find(pid));
    if (pids.empty()) local.erase(group);
    groups.Left(group, pid, 1);
  }
  void Connect(const Side& other) {
    connected = true;
    groups.Connected(other.node);
  }
  void Lose(const Side& other) {
    connected = false;
    out.clear();
    groups.Lost(other.node);
  }

  const gen::Atom node;
  const gen::PID self;
  Lines log;
  Members members;
  const std::shared_ptr<AtomBudget> atoms;
  bool connected = false;
  std::deque<Sent> out;
  int reminders = 0;
  PIDs not_believed;
  MembersByGroup local;
  ProcessGroups groups;
};

// What `from` has sent first arrives. False: there is nothing.
bool Deliver(Side& from, Side& to) {
  if (from.out.empty()) return false;
  const Sent sent = std::move(from.out.front());
  from.out.pop_front();
  switch (sent.kind) {
    case SignalKind::kSendToName:
      CHECK(sent.name == kGroupScope);
      CHECK(to.groups.Handle(from.node, sent.payload));
      break;
    case SignalKind::kSend:
      CHECK(sent.to == to.self);
      CHECK(to.groups.Handle(from.node, sent.payload));
      break;
    case SignalKind::kMonitor:
    case SignalKind::kDemonitor:
      CHECK(sent.to.node == to.node);
      break;
    default:
      FAIL("of no use");
  }
  return true;
}

void DeliverAll(Side& one, Side& other) {
  for (int left = 10'000; Deliver(one, other) || Deliver(other, one); --left) REQUIRE(left > 0);
}

// A node whose messages the test makes itself.
struct Erlang {
  explicit Erlang(Side& ergon) : side(ergon) {}
  void Say(const std::string& term) { CHECK(side.groups.Handle(node, term)); }
  [[nodiscard]] gen::PID Process(std::uint64_t id) const { return {id, node, 9}; }
  [[nodiscard]] std::string TermOf(std::uint32_t id) const {
    return terms::Pid(node.Text(), id, 0, 9);
  }
  [[nodiscard]] std::string Discover(std::uint32_t scope) const {
    return terms::Tuple({terms::SmallAtom("discover"), TermOf(scope)});
  }
  [[nodiscard]] std::string Sync(std::uint32_t scope,
                                 const std::vector<std::string>& groups) const {
    return terms::Tuple({terms::SmallAtom("$gen_cast"),
                         terms::Tuple({terms::SmallAtom("sync"), TermOf(scope),
                                       groups.empty() ? terms::kNil : terms::List(groups)})});
  }
  [[nodiscard]] std::string Group(const std::string& name, std::uint32_t pid) const {
    return terms::Tuple({name, terms::List({TermOf(pid)})});
  }
  [[nodiscard]] std::string Join(std::uint32_t scope, const std::string& name,
                                 std::uint32_t pid) const {
    return terms::Tuple({terms::SmallAtom("join"), TermOf(scope), name, TermOf(pid)});
  }
  [[nodiscard]] std::string Leave(std::uint32_t scope, const std::string& name,
                                  std::uint32_t pid) const {
    return terms::Tuple(
        {terms::SmallAtom("leave"), TermOf(scope), TermOf(pid), terms::List({name})});
  }

  Side& side;
  const gen::Atom node{"erl@h"};
};

const std::string kWeb = terms::SmallAtom("web");

}  // namespace

TEST_CASE("process groups: two nodes know each other's members, and each change once") {
  Side a("a@h");
  Side b("b@h");
  a.Join("web", a.Process(2));
  a.Join("web", a.Process(2));
  b.Join("api", b.Process(3));
  a.Connect(b);
  b.Connect(a);
  DeliverAll(a, b);
  CHECK(a.members.Known() == b.local);
  CHECK(b.members.Known() == a.local);
  CHECK(b.members.notices.size() == 1);
  a.Join("api", a.Process(4));
  a.Leave("web", a.Process(2));
  DeliverAll(a, b);
  CHECK(b.members.Known() == a.local);
  CHECK(b.members.notices.size() == 3);
  // Nobody is asked again who has answered, and asking again changes nothing.
  CHECK_FALSE(a.groups.AskAgain());
  b.groups.Handle(a.node, terms::Tuple({terms::SmallAtom("discover"), terms::Pid("a@h", 1, 0, 7)}));
  DeliverAll(a, b);
  CHECK(a.members.notices.size() == 1);
  CHECK(b.members.notices.size() == 3);
}

TEST_CASE("process groups: a lost node takes its members along, once, and brings them back") {
  Side a("a@h");
  Side b("b@h");
  for (std::uint64_t id = 2; id < 5; ++id) a.Join("web", a.Process(id));
  for (int round = 0; round < 3; ++round) {
    a.Connect(b);
    b.Connect(a);
    DeliverAll(a, b);
    CHECK(b.members.Known() == a.local);
    a.Lose(b);
    b.Lose(a);
    b.Lose(a);
    CHECK(b.members.Known().empty());
  }
  const PIDs all{a.Process(2), a.Process(3), a.Process(4)};
  const Members::Notice joined{true, "web", all};
  const Members::Notice left{false, "web", all};
  CHECK(b.members.notices == std::vector{joined, left, joined, left, joined, left});
}

TEST_CASE("process groups: whatever comes between, both know the same in the end" *
          kit::OneThread()) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Side a("a@h");
    Side b("b@h");
    const std::vector<gen::Atom> names{"web", "api", "db"};
    for (int step = 0; step < 300; ++step) {
      Side& side = random() % 2 == 0 ? a : b;
      Side& other = &side == &a ? b : a;
      const gen::Atom group = names[random() % names.size()];
      switch (random() % 8) {
        case 0:
        case 1:
          side.Join(group, side.Process(2 + random() % 4));
          break;
        case 2: {
          const auto found = side.local.find(group);
          if (found != side.local.end()) side.Leave(group, *found->second.begin());
          break;
        }
        case 3:
          if (random() % 10 != 0) break;
          if (side.connected) {
            side.Lose(other);
            other.Lose(side);
          } else {
            side.Connect(other);
            other.Connect(side);
          }
          break;
        case 4:
          if (side.connected) (void)side.groups.AskAgain();
          break;
        default:
          (void)Deliver(side, other);
      }
    }
    if (!a.connected) {
      a.Connect(b);
      b.Connect(a);
    }
    DeliverAll(a, b);
    CHECK(a.members.Known() == b.local);
    CHECK(b.members.Known() == a.local);
    CHECK_FALSE(a.groups.AskAgain());
  }
}

TEST_CASE("process groups: who does not answer is asked again, also by a later scope process") {
  Side a("a@h");
  Erlang erl(a);
  a.Join("web", a.Process(2));
  a.connected = true;
  a.groups.Connected(erl.node);
  CHECK(a.reminders == 1);
  CHECK(a.out.size() == 1);
  CHECK(a.groups.AskAgain());
  REQUIRE(a.out.size() == 2);
  CHECK(a.out.back().kind == SignalKind::kSendToName);
  a.out.clear();
  // Nobody is there to be told of changes.
  a.Join("web", a.Process(3));
  CHECK(a.out.empty());
  erl.Say(erl.Discover(5));
  // A monitor, all members, and the question.
  REQUIRE(a.out.size() == 3);
  CHECK(a.out[0].kind == SignalKind::kMonitor);
  const auto number = OwnNumberIn(a.out[0].ref, a.node, 7);
  REQUIRE(number);
  const auto sync = ReadGroupMessage(a.out[1].payload, a.node, 64);
  REQUIRE(sync);
  REQUIRE(sync->groups.size() == 1);
  CHECK(sync->groups[0].pids == PIDs{a.Process(2), a.Process(3)});
  CHECK(a.out[2].to == erl.Process(5));
  erl.Say(erl.Sync(5, {erl.Group(kWeb, 8)}));
  CHECK_FALSE(a.groups.AskAgain());
  // It ends.
  CHECK_FALSE(a.groups.HandleDown(erl.node, *number + 1));
  CHECK_FALSE(a.groups.HandleDown("other@h", *number));
  CHECK_FALSE(a.groups.HandleDown(erl.node, 0));
  a.out.clear();
  CHECK(a.groups.HandleDown(erl.node, *number));
  CHECK_FALSE(a.groups.HandleDown(erl.node, *number));
  CHECK(a.members.Known().empty());
  CHECK(a.reminders == 3);
  REQUIRE(a.out.size() == 1);
  CHECK(a.out[0].name == kGroupScope);
  a.Leave("web", a.Process(3));
  CHECK(a.out.size() == 1);
  CHECK(a.groups.AskAgain());
}

TEST_CASE("process groups: a scope process in the place of another one") {
  Side a("a@h");
  Erlang erl(a);
  a.connected = true;
  a.groups.Connected(erl.node);
  erl.Say(erl.Discover(5));
  erl.Say(erl.Sync(5, {erl.Group(kWeb, 8)}));
  CHECK_FALSE(a.groups.AskAgain());  // a while later
  a.out.clear();
  erl.Say(erl.Discover(6));
  CHECK(a.members.Known().empty());
  CHECK(a.out[0].kind == SignalKind::kDemonitor);
  CHECK(a.out[1].kind == SignalKind::kMonitor);
  // The former one is not listened to any more.
  erl.Say(erl.Join(5, kWeb, 8));
  CHECK(a.members.Known().empty());
  // Nor is this one before it has told who is there.
  erl.Say(erl.Join(6, kWeb, 8));
  CHECK(a.members.Known().empty());
  erl.Say(erl.Sync(6, {erl.Group(kWeb, 9)}));
  erl.Say(erl.Join(6, kWeb, 8));
  CHECK(a.members.Known() == MembersByGroup{{"web", {erl.Process(8), erl.Process(9)}}});
  // What is told to it goes to it.
  a.out.clear();
  a.Join("web", a.Process(2));
  REQUIRE(a.out.size() == 1);
  CHECK(a.out[0].to == erl.Process(6));
}

TEST_CASE("process groups: all members anew are what has changed since") {
  Side a("a@h");
  Erlang erl(a);
  a.connected = true;
  a.groups.Connected(erl.node);
  erl.Say(erl.Sync(5, {erl.Group(kWeb, 1), erl.Group(terms::SmallAtom("api"), 2)}));
  erl.Say(erl.Join(5, kWeb, 1));
  a.members.notices.clear();
  erl.Say(erl.Sync(5, {erl.Group(kWeb, 1), erl.Group(terms::SmallAtom("db"), 3)}));
  CHECK(a.members.notices == std::vector<Members::Notice>{{false, "web", {erl.Process(1)}},
                                                          {false, "api", {erl.Process(2)}},
                                                          {true, "db", {erl.Process(3)}}});
  a.members.notices.clear();
  erl.Say(erl.Leave(5, kWeb, 1));
  erl.Say(erl.Leave(5, kWeb, 1));
  erl.Say(erl.Leave(5, terms::SmallAtom("of_nobody"), 1));
  CHECK(a.members.notices == std::vector<Members::Notice>{{false, "web", {erl.Process(1)}}});
}

TEST_CASE("process groups: names that can be none here are left out, and told of once") {
  const gen::Atom web("web");  // so that this name is no new one, whichever test comes first
  Side a("a@h", 1);
  Erlang erl(a);
  a.connected = true;
  a.groups.Connected(erl.node);
  erl.Say(erl.Sync(5, {erl.Group(terms::Small(1), 1), erl.Group(kWeb, 1)}));
  erl.Say(erl.Join(5, terms::Tuple({}), 1));
  erl.Say(erl.Leave(5, terms::Tuple({}), 1));
  CHECK(a.members.Known() == MembersByGroup{{"web", {erl.Process(1)}}});
  CHECK(a.log.lines.size() == 1);
  // Atoms are counted; leaving makes none.
  a.groups.Lost(erl.node);
  a.groups.Connected(erl.node);
  erl.Say(erl.Sync(5, {}));
  erl.Say(erl.Leave(5, terms::SmallAtom("name_of_this_test_alone_0"), 1));
  CHECK(a.atoms->used() == 0);
  erl.Say(erl.Join(5, terms::SmallAtom("name_of_this_test_alone_1"), 1));
  erl.Say(erl.Join(5, terms::SmallAtom("name_of_this_test_alone_2"), 1));
  erl.Say(erl.Join(5, terms::SmallAtom("name_of_this_test_alone_3"), 1));
  CHECK(a.members.Known() == MembersByGroup{{"name_of_this_test_alone_1", {erl.Process(1)}}});
  CHECK_FALSE(gen::Atom::Find("name_of_this_test_alone_2"));
  REQUIRE(a.log.lines.size() == 2);
  CHECK(a.log.lines[1].find("name_of_this_test_alone_2") != std::string::npos);
  // Of ours, those that Erlang cannot write.
  a.out.clear();
  a.Join("\xff", a.Process(2));
  a.Join("\xfe", a.Process(2));
  a.Leave("\xff", a.Process(2));
  CHECK(a.out.empty());
  CHECK(a.log.lines.size() == 3);
}

TEST_CASE("process groups: who is not connected is not listened to") {
  Side a("a@h");
  Erlang erl(a);
  erl.Say(erl.Discover(5));
  erl.Say(erl.Sync(5, {erl.Group(kWeb, 1)}));
  CHECK(a.members.Known().empty());
  CHECK_FALSE(a.groups.Handle(erl.node, kWeb));
}

TEST_CASE("process groups: nobody speaks for processes of a third node") {
  Side a("a@h");
  Erlang erl(a);
  a.groups.Connected(erl.node);
  erl.Say(erl.Sync(5, {erl.Group(kWeb, 1)}));
  const MembersByGroup known = a.members.Known();
  a.out.clear();
  const std::string third = terms::Pid("third_that_has_an_atom@h", 1, 0, 9);
  const gen::Atom node("third_that_has_an_atom@h");
  const std::string scope = erl.TermOf(5);
  const auto word = [](const char* text) { return terms::SmallAtom(text); };
  const std::vector<std::string> lies = {
      terms::Tuple({word("discover"), third}),
      terms::Tuple({word("$gen_cast"), terms::Tuple({word("sync"), third, terms::kNil})}),
      erl.Sync(5, {terms::Tuple({kWeb, terms::List({erl.TermOf(2), third})})}),
      terms::Tuple({word("join"), third, kWeb, erl.TermOf(2)}),
      terms::Tuple({word("join"), scope, kWeb, third}),
      terms::Tuple({word("join"), scope, kWeb, terms::List({erl.TermOf(2), third})}),
      terms::Tuple({word("leave"), third, erl.TermOf(1), terms::List({kWeb})}),
      terms::Tuple(
          {word("leave"), scope, terms::List({erl.TermOf(1), third}), terms::List({kWeb})}),
  };
  for (const std::string& lie : lies) {
    CAPTURE(lie);
    a.not_believed.clear();
    erl.Say(lie);
    CHECK(a.not_believed == PIDs{gen::PID{1, node, 9}});
    CHECK(a.members.Known() == known);
    CHECK(a.out.empty());
  }
  // No atom is made for it.
  a.not_believed.clear();
  erl.Say(terms::Tuple({word("join"), scope, kWeb, terms::Pid("third_without@h", 1, 0, 9)}));
  CHECK(a.not_believed == PIDs{gen::PID{1, {}, 9}});
  CHECK_FALSE(gen::Atom::Find("third_without@h"));
  erl.Say(erl.Join(5, kWeb, 2));
  CHECK(a.members.Known().at("web").size() == 2);
}

TEST_CASE("process groups: who asks again and again is told once, and ever new ones now and then") {
  Side a("a@h");
  Erlang erl(a);
  a.Join("web", a.Process(2));
  a.Connect(Side("erl@h"));
  const auto told = [&](std::uint64_t scope) {
    return std::count_if(a.out.begin(), a.out.end(), [&](const Sent& sent) {
      return sent.kind == SignalKind::kSend && sent.to == erl.Process(scope) &&
             sent.payload.find("sync") != std::string::npos;
    });
  };
  for (int i = 0; i < 1000; ++i) erl.Say(erl.Discover(5));
  CHECK(told(5) == 1);
  a.Join("api", a.Process(3));
  erl.Say(erl.Sync(5, {}));
  CHECK_FALSE(a.groups.AskAgain());
  a.out.clear();
  erl.Say(erl.Discover(5));
  CHECK(a.out.empty());
  const int reminders = a.reminders;
  for (std::uint32_t scope = 6; scope < 1000; ++scope) erl.Say(erl.Discover(scope));
  CHECK(told(6) == 1);
  CHECK(a.reminders == reminders + 1);
  // Those that have to wait are not asked either.
  CHECK(std::count_if(a.out.begin(), a.out.end(), [](const Sent& sent) {
          return sent.kind == SignalKind::kSend &&
                 sent.payload.find("discover") != std::string::npos;
        }) == 1);
  // What is told then is what there is then, and what comes later comes later.
  a.Leave("api", a.Process(3));
  std::ptrdiff_t all = 0;
  for (std::uint32_t scope = 7; scope < 1000; ++scope) all += told(scope);
  CHECK(all == 0);
  CHECK(a.groups.AskAgain());
  for (std::uint32_t scope = 7; scope < 1000; ++scope) all += told(scope);
  CHECK(all == 1);
  CHECK(told(999) == 1);
  a.Join("api", a.Process(3));
  REQUIRE(a.out.back().to == erl.Process(999));
  CHECK(a.out.back().payload.find("join") != std::string::npos);
  erl.Say(erl.Sync(999, {}));
  CHECK_FALSE(a.groups.AskAgain());
}

TEST_CASE("process groups: what does not fit into one message is told in several") {
  constexpr std::size_t kFrame = 4096;
  Side a("a@h", 1000, kFrame);
  Side b("b@h");
  for (std::uint64_t id = 2; id < 1000; ++id) a.Join("web", a.Process(id));
  for (std::uint64_t id = 500; id < 600; ++id) a.Join("api", a.Process(id));
  for (int i = 0; i < 1000; ++i) a.Join("api", a.Process(2));
  a.Connect(b);
  b.Connect(a);
  const auto all_fit = [&] {
    for (const Sent& sent : a.out) CHECK(sent.payload.size() < kFrame - 500);
  };
  while (Deliver(b, a)) all_fit();
  CHECK(a.out.size() > 10);
  DeliverAll(a, b);
  CHECK(b.members.Known() == a.local);
  a.local["api"].erase(a.Process(2));
  a.groups.Left("api", a.Process(2), 1000);
  CHECK(a.out.size() > 1);
  all_fit();
  DeliverAll(a, b);
  CHECK(b.members.Known() == a.local);
}

TEST_CASE("process groups: many leave many groups for the price of those who are in them" *
          kit::OneThread()) {
  constexpr std::uint32_t kMany = 10'000;
  Side a("a@h", kMany + 2);
  Erlang erl(a);
  a.connected = true;
  a.groups.Connected(erl.node);
  erl.Say(erl.Sync(5, {erl.Group(kWeb, 1), erl.Group(terms::SmallAtom("api"), 2)}));
  std::vector<std::string> pids;
  std::vector<std::string> names;
  std::vector<std::string> groups;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    pids.push_back(erl.TermOf(i));
    names.push_back(terms::SmallAtom("group_of_this_test_" + std::to_string(i)));
    groups.push_back(erl.Group(names.back(), i));
  }
  const auto leave = [&](const std::vector<std::string>& which) {
    const std::uint64_t before = a.groups.Looks();
    erl.Say(terms::Tuple(
        {terms::SmallAtom("leave"), erl.TermOf(5), terms::List(pids), terms::List(which)}));
    return a.groups.Looks() - before;
  };
  // None of them is in one of those.
  CHECK(leave(names) < 4 * kMany);
  CHECK(a.members.Known().size() == 2);
  // One group again and again, and so one process.
  CHECK(leave(std::vector<std::string>(kMany, kWeb)) < 4 * kMany);
  CHECK(a.members.Known() == MembersByGroup{{"api", {erl.Process(2)}}});
  groups.push_back(erl.Group(terms::SmallAtom("api"), 2));
  erl.Say(erl.Sync(5, groups));
  CHECK(a.members.Known().size() == kMany + 1);
  // Each of them is in one.
  CHECK(leave(names) < 4 * kMany);
  CHECK(a.members.Known() == MembersByGroup{{"api", {erl.Process(2)}}});
  // One process in all of them.
  for (std::string& group : groups) group.clear();
  groups.clear();
  for (const std::string& name : names) groups.push_back(erl.Group(name, 7));
  erl.Say(erl.Sync(5, groups));
  pids.assign(kMany, erl.TermOf(7));
  CHECK(leave(names) < 4 * kMany);
  CHECK(a.members.Known().empty());
}

TEST_CASE("process groups: who is named twice leaves twice") {
  Side a("a@h");
  Erlang erl(a);
  a.connected = true;
  a.groups.Connected(erl.node);
  const std::string five =
      terms::Tuple({kWeb, terms::List({erl.TermOf(1), erl.TermOf(1), erl.TermOf(2), erl.TermOf(1),
                                       erl.TermOf(1), erl.TermOf(1)})});
  erl.Say(erl.Sync(5, {five}));
  a.members.notices.clear();
  erl.Say(terms::Tuple({terms::SmallAtom("leave"), erl.TermOf(5),
                        terms::List({erl.TermOf(1), erl.TermOf(3), erl.TermOf(1)}),
                        terms::List({kWeb, terms::SmallAtom("api"), kWeb})}));
  CHECK(a.members.Known() == MembersByGroup{{"web", {erl.Process(1), erl.Process(2)}}});
  // As pg tells of it: one after the other.
  const Members::Notice twice{false, "web", PIDs(2, erl.Process(1))};
  CHECK(a.members.notices == std::vector<Members::Notice>{twice, twice});
}

}  // namespace ergon::dist::process_groups_test
