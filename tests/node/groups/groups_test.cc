// Process groups: members in order, notices that add up, sends to all and to one.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include <ergon/act/pool.h>
#include <ergon/gen/group.h>
#include <ergon/node/runtime/runtime.h>

#include <kit/gate.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

using PIDs = std::vector<gen::PID>;

struct GroupNotice {
  std::string what;  // "joined", "left", "down", "exit"
  gen::Atom group;
  PIDs pids;
  friend bool operator==(const GroupNotice&, const GroupNotice&) = default;
};

Handlers NoteGroups(Notes<GroupNotice>& notes) {
  return {.message = [&notes](Subject&, gen::PID, gen::Message& message) {
    if (const auto* joined = message.As<gen::MessageGroupJoined>()) {
      notes.Add({"joined", joined->group, joined->pids});
    } else if (const auto* left = message.As<gen::MessageGroupLeft>()) {
      notes.Add({"left", left->group, left->pids});
    } else if (const auto* down = message.As<gen::MessageDownPID>()) {
      notes.Add({"down", {}, {down->pid}});
    } else if (const auto* exit = message.As<gen::MessageExitPID>()) {
      notes.Add({"exit", {}, {exit->pid}});
    }
    return gen::Continue();
  }};
}

TEST_CASE("groups: an observer is told of some members of some groups, and of all their numbers") {
  TestNode t;
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  const Groups& groups = RuntimeOf(t.node, "test").groups();
  CHECK(groups.Infos(10, 10).second == 0);
  for (const char* name : {"c", "b", "a"}) {
    CHECK(t.node.JoinGroup(name, one));
    CHECK(t.node.JoinGroup(name, two));
    CHECK(t.node.JoinGroup(name, two));
  }
  CHECK(t.Run(one, [](Subject& self) { CHECK(self.MonitorGroup("only monitored")); }));
  const auto [infos, in_all] = groups.Infos(2, 1);
  CHECK(in_all == 3);
  REQUIRE(infos.size() == 2);
  CHECK(infos[0].name == "a");
  CHECK(infos[1].name == "b");
  CHECK(infos[0].members == PIDs{one});
  CHECK(infos[0].members_in_all == 3);
  CHECK(infos[0].members_here == 3);
  CHECK(t.node.LeaveGroup("a", one));
  CHECK(groups.Infos(1, 10).first[0].members == PIDs{two, two});
  CHECK(groups.Infos(1, 10).first[0].members_here == 2);
  REQUIRE(t.node.Kill(two));
  REQUIRE(t.node.WaitProcess(two, kit::kDeadline));
  CHECK(groups.Infos(10, 10).second == 2);
  CHECK(groups.Infos(1, 10).first[0].members == PIDs{one});
  CHECK(groups.Infos(1, 10).first[0].members_here == 1);
}

TEST_CASE("groups: members in the order of joining, as often as they have joined") {
  TestNode t;
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  CHECK(t.node.GroupMembers("web").empty());
  CHECK(t.node.Groups().empty());
  CHECK(t.Run(one, [](Subject& self) { CHECK(self.JoinGroup("web")); }));
  CHECK(t.node.JoinGroup("web", two));
  CHECK(t.node.JoinGroup("web", one));
  CHECK(t.node.JoinGroup("api", two));
  CHECK(t.node.GroupMembers("web") == PIDs{one, two, one});
  CHECK(t.node.Groups() == std::vector<gen::Atom>{"api", "web"});
  CHECK(t.node.ProcessInfo(one)->groups == std::vector<gen::Atom>{"web", "web"});
  // The last membership goes first.
  CHECK(t.node.LeaveGroup("web", one));
  CHECK(t.node.GroupMembers("web") == PIDs{one, two});
  CHECK(t.Run(one, [&](Subject& self) {
    CHECK(self.GroupMembers("web") == PIDs{one, two});
    CHECK(self.LeaveGroup("web"));
    CHECK(self.LeaveGroup("web").error() == gen::ErrProcessUnknown);
    CHECK(self.LeaveGroup("api").error().detail() ==
          self.Self().ToString() + " is not in group 'api'");
  }));
  CHECK(t.node.GroupMembers("web") == PIDs{two});
  CHECK(t.node.LeaveGroup("web", two));
  CHECK(t.node.Groups() == std::vector<gen::Atom>{"api"});  // an empty one is gone
  CHECK(t.node.LeaveGroup("web", two).error() == gen::ErrProcessUnknown);
}

TEST_CASE("groups: what is wrong is told, and changes nothing") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  const gen::PID ended = t.Spawn();
  CHECK(t.node.Kill(ended));
  CHECK(t.Ended(ended));
  CHECK(t.node.JoinGroup("", pid).error().ToString() ==
        "incorrect value: group: must not be empty");
  CHECK(t.node.LeaveGroup("", pid).error() == gen::ErrIncorrect);
  CHECK(t.node.OneOf("").error() == gen::ErrIncorrect);
  CHECK(t.node.SendToGroup("", 1).error() == gen::ErrIncorrect);
  CHECK(t.node.SendToOneOf("", 1).error() == gen::ErrIncorrect);
  CHECK(t.node.GroupMembers("").empty());
  CHECK(t.Run(pid, [](Subject& self) {
    CHECK(self.JoinGroup("").error() == gen::ErrIncorrect);
    CHECK(self.LeaveGroup("").error() == gen::ErrIncorrect);
    CHECK(self.MonitorGroup("").error() == gen::ErrIncorrect);
    CHECK(self.DemonitorGroup("").error() == gen::ErrIncorrect);
  }));
  CHECK_THROWS_AS((void)t.node.JoinGroup(std::string(gen::Atom::kMaxBytes + 1, 'x'), pid),
                  std::length_error);
  CHECK(t.node.JoinGroup("g", ended).error() == gen::ErrProcessTerminated);
  CHECK(t.node.LeaveGroup("g", ended).error() == gen::ErrProcessTerminated);
  CHECK_FALSE(t.node.JoinGroup("g", gen::PID()));
  CHECK_FALSE(t.node.JoinGroup("g", t.node.Self()));
  CHECK(t.node.OneOf("g").error().ToString() == "process is unknown: group 'g' has no members");
  CHECK(t.node.Groups().empty());
}

TEST_CASE("groups: in a foreign thread only what looks at them") {
  std::atomic<gen::Process*> process{nullptr};
  TestNode t;
  const auto pid = t.node.Spawn([&](gen::Process& self) {
    self.JoinGroup("g").value();
    process = &self;
    (void)self.Receive<End>();
  });
  REQUIRE(pid);
  REQUIRE(kit::Eventually([&] { return process != nullptr; }));
  gen::Process& foreign = *process;
  CHECK(foreign.GroupMembers("g") == PIDs{*pid});
  CHECK(foreign.Groups() == std::vector<gen::Atom>{"g"});
  CHECK(foreign.OneOf("g").value() == *pid);
  CHECK(foreign.JoinGroup("g").error() == gen::ErrNotAllowed);
  CHECK(foreign.LeaveGroup("g").error() == gen::ErrNotAllowed);
  CHECK(foreign.MonitorGroup("g").error() == gen::ErrNotAllowed);
  CHECK(foreign.DemonitorGroup("g").error() == gen::ErrNotAllowed);
  CHECK(foreign.SendToGroup("g", 1).error() == gen::ErrNotAllowed);
  CHECK(foreign.SendToOneOf("g", 1).error() == gen::ErrNotAllowed);
  CHECK(t.node.Send(*pid, End{}));
  CHECK(t.Ended(*pid));
}

TEST_CASE("groups: a node that has stopped") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  CHECK(t.node.JoinGroup("g", pid));
  t.node.Stop();
  CHECK(t.node.GroupMembers("g").empty());
  CHECK(t.node.Groups().empty());
  CHECK(t.node.JoinGroup("g", pid).error() == gen::ErrNodeTerminated);
  CHECK(t.node.LeaveGroup("g", pid).error() == gen::ErrNodeTerminated);
  CHECK(t.node.OneOf("g").error() == gen::ErrNodeTerminated);
  CHECK(t.node.SendToGroup("g", 1).error() == gen::ErrNodeTerminated);
  CHECK(t.node.SendToOneOf("g", 1).error() == gen::ErrNodeTerminated);
}

TEST_CASE("groups: who learns of an end does not find the process in a group") {
  std::atomic<int> found{0};
  std::atomic<int> told{0};
  TestNode t;
  const auto look = [&](Subject& self, gen::PID, gen::Message&) {
    if (!self.GroupMembers("g").empty() || !self.Node().Groups().empty()) ++found;
    ++told;
    return gen::Continue();
  };
  const gen::PID watcher = t.Spawn({.message = look});
  const gen::PID linked = t.Spawn({.message = look});
  const int rounds = kit::Scaled(500);
  for (int i = 0; i < rounds; ++i) {
    const gen::PID pid = t.Spawn();
    CHECK(t.node.JoinGroup("g", pid));
    CHECK(t.node.JoinGroup("g", pid));
    CHECK(t.node.JoinGroup("h", pid));
    CHECK(t.Run(watcher, [&](Subject& self) { self.Monitor(pid).value(); }));
    CHECK(t.Run(linked, [&](Subject& self) {
      self.SetTrapExit(true);
      self.Link(pid).value();
    }));
    if (i % 2 == 0) {
      CHECK(t.node.Kill(pid));
    } else {
      CHECK(t.node.Send(pid, End{}));
    }
    CHECK(t.Ended(pid));
    CHECK(t.node.Groups().empty());
    CHECK(kit::Eventually([&] { return told == 2 * (i + 1); }));
  }
  CHECK(found == 0);
}

TEST_CASE("groups: nor does who begins to monitor it while it ends") {
  std::atomic<int> found{0};
  std::atomic<int> told{0};
  TestNode t;
  const gen::PID watcher = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message& message) {
    if (const auto* member = message.As<gen::PID>()) {
      for (int i = 0; i < 50; ++i) self.Monitor(*member).value();
    } else if (const auto* down = message.As<gen::MessageDownPID>()) {
      const auto members = self.GroupMembers("g");
      if (std::find(members.begin(), members.end(), down->pid) != members.end()) ++found;
      ++told;
    }
    return gen::Continue();
  }});
  const int rounds = kit::Scaled(3000);
  for (int i = 0; i < rounds; ++i) {
    const gen::PID pid = t.Spawn();
    CHECK(t.node.JoinGroup("g", pid));
    CHECK(t.node.Send(watcher, gen::PID(pid)));
    CHECK(t.node.Send(pid, End{}));
    CHECK(t.Ended(pid));
  }
  CHECK(kit::Eventually([&] { return told == 50 * rounds; }));
  CHECK(found == 0);
}

TEST_CASE("groups: who monitors one gets the members, then one notice for each change") {
  Notes<GroupNotice> notes;
  TestNode t;
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  const gen::PID watcher = t.Spawn(NoteGroups(notes));
  CHECK(t.node.JoinGroup("g", one));
  CHECK(t.Run(watcher, [&](Subject& self) {
    CHECK(self.MonitorGroup("g").value() == PIDs{one});
    CHECK(self.MonitorGroup("g").error() == gen::ErrTaken);
    CHECK(self.MonitorGroup("empty").value().empty());
    CHECK(self.JoinGroup("g"));
    self.Monitor(two).value();
  }));
  CHECK(t.node.Groups() == std::vector<gen::Atom>{"g"});  // one that is only monitored is not there
  CHECK(t.node.JoinGroup("g", two));
  CHECK(t.node.JoinGroup("other", two));
  CHECK(t.node.JoinGroup("empty", two));
  CHECK(t.node.JoinGroup("g", two));
  CHECK(t.node.LeaveGroup("g", one));
  CHECK(t.node.Kill(two));
  CHECK(t.Ended(two));
  CHECK(kit::Eventually([&] { return notes.size() == 8; }));
  std::vector<GroupNotice> expected{{"joined", "g", {watcher}}, {"joined", "g", {two}},
                                    {"joined", "empty", {two}}, {"joined", "g", {two}},
                                    {"left", "g", {one}},       {"left", "g", {two, two}},
                                    {"left", "empty", {two}},   {"down", {}, {two}}};
  auto all = notes.All();
  // Groups are left in any order, and all of them before the end is told.
  if (all[5].group == gen::Atom("empty")) std::swap(expected[5], expected[6]);
  CHECK(all == expected);
  CHECK(t.node.GroupMembers("g") == PIDs{watcher});
}

TEST_CASE("groups: no notice is handled after DemonitorGroup, nor twice after another monitor") {
  Notes<GroupNotice> notes;
  TestNode t;
  const gen::PID member = t.Spawn();
  const gen::PID watcher = t.Spawn(NoteGroups(notes));
  CHECK(t.Run(watcher, [&](Subject& self) {
    CHECK(self.DemonitorGroup("g").error().detail() == "not monitored: group 'g'");
    CHECK(self.MonitorGroup("g").value().empty());
    // Two notices wait by now.
    CHECK(self.Node().JoinGroup("g", member));
    CHECK(self.Node().JoinGroup("g", member));
    CHECK(self.DemonitorGroup("g"));
    CHECK(self.DemonitorGroup("g").error() == gen::ErrProcessUnknown);
    CHECK(self.Node().JoinGroup("g", member));
    CHECK(self.MonitorGroup("g").value() == PIDs{member, member, member});
    CHECK(self.Node().LeaveGroup("g", member));
  }));
  CHECK(t.node.JoinGroup("g", watcher));
  CHECK(kit::Eventually([&] { return notes.size() == 2; }));
  CHECK(t.Run(watcher, [](Subject& self) { CHECK(self.DemonitorGroup("g")); }));
  CHECK(t.node.LeaveGroup("g", watcher));
  CHECK(t.Run(watcher, [](Subject&) {}));
  CHECK(notes.All() ==
        std::vector<GroupNotice>{{"left", "g", {member}}, {"joined", "g", {watcher}}});
}

TEST_CASE("groups: a process made of a function receives the notices it has asked for") {
  Notes<std::size_t> notes;
  TestNode t;
  const auto watcher = t.node.Spawn([&](gen::Process& self) {
    notes.Add(self.MonitorGroup("g").value().size());
    for (std::size_t members = 0;;) {
      auto next = self.Receive<gen::MessageGroupJoined, gen::MessageGroupLeft>();
      if (!next) return;
      if (const auto* joined = std::get_if<gen::MessageGroupJoined>(&*next)) {
        members += joined->pids.size();
      } else {
        members -= std::get<gen::MessageGroupLeft>(*next).pids.size();
      }
      notes.Add(members);
    }
  });
  REQUIRE(watcher);
  REQUIRE(kit::Eventually([&] { return notes.size() == 1; }));
  const gen::PID member = t.Spawn();
  CHECK(t.node.JoinGroup("g", member));
  CHECK(t.node.JoinGroup("g", member));
  CHECK(t.node.Kill(member));
  CHECK(kit::Eventually([&] { return notes.size() == 4; }));
  CHECK(notes.All() == std::vector<std::size_t>{0, 1, 2, 0});
  CHECK(t.node.Kill(*watcher));
}

TEST_CASE("groups: a notice that a function has not received yet is gone after DemonitorGroup") {
  std::atomic<int> step{0};
  TestNode t;
  const gen::PID member = t.Spawn();
  const auto watcher = t.node.Spawn([&](gen::Process& self) {
    self.MonitorGroup("g").value();
    self.Node().JoinGroup("g", member).value();
    // It looks at the notice, and leaves it where it is.
    CHECK(self.Receive<End>(0ns).error() == gen::ErrTimeout);
    self.DemonitorGroup("g").value();
    CHECK(self.Receive<gen::MessageGroupJoined>(0ns).error() == gen::ErrTimeout);
    CHECK(self.Receive<gen::OtherMessage>(0ns).error() == gen::ErrTimeout);
    step = 1;
  });
  REQUIRE(watcher);
  CHECK(t.Ended(*watcher));
  CHECK(step == 1);
}

TEST_CASE("groups: a copy for each membership, in order, and full ones are counted") {
  Notes<int> first;
  Notes<int> second;
  TestNode t;
  kit::Gate gate(t.node);
  CHECK(t.node.SendToGroup("g", 1).value() == 0);
  const gen::PID one = t.Spawn(Collect(first));
  const gen::PID two = t.Spawn(Collect(second), {.mailbox_size = 1});
  CHECK(t.node.JoinGroup("g", one));
  CHECK(t.node.JoinGroup("g", two));
  CHECK(t.node.JoinGroup("g", one));
  CHECK(t.node.SendToGroup("g", 1).value() == 3);
  CHECK(kit::Eventually([&] { return first.size() == 2 && second.size() == 1; }));
  t.Begin(two, [pid = gate.pid()](Subject& self) {
    (void)self.Call<bool>(pid, kit::EnterGate{}, kPatient);
  });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  const auto full = t.node.Info().dropped_mailbox_full;
  for (int i = 2; i <= 4; ++i) CHECK(t.node.SendToGroup("g", i).value() == (i == 2 ? 3 : 2));
  CHECK(t.node.Info().dropped_mailbox_full == full + 2);
  gate.Open();
  CHECK(kit::Eventually([&] { return first.size() == 8 && second.size() == 2; }));
  CHECK(first.All() == std::vector<int>{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(second.All() == std::vector<int>{1, 2});
  // A member that sends gets its own copy.
  CHECK(t.Run(one, [](Subject& self) {
    const auto before = self.Node().ProcessInfo(self.Self())->messages_sent;
    const int five = 5;
    CHECK(self.SendToGroup("g", five).value() == 3);
    CHECK(self.Node().ProcessInfo(self.Self())->messages_sent == before + 3);
  }));
  CHECK(kit::Eventually([&] { return first.size() == 10 && second.size() == 3; }));
}

// Its third copy fails.
struct CopiedTwice {
  explicit CopiedTwice(std::shared_ptr<int> copies_in) : copies(std::move(copies_in)) {}
  CopiedTwice(CopiedTwice&&) = default;
  CopiedTwice& operator=(CopiedTwice&&) = default;
  CopiedTwice(const CopiedTwice& other) : copies(other.copies) {
    if (++*copies == 3) throw std::runtime_error("no more");
  }
  CopiedTwice& operator=(const CopiedTwice&) = delete;
  ~CopiedTwice() = default;
  std::shared_ptr<int> copies;
};

TEST_CASE("groups: what a copy throws is thrown, and what was sent is accounted for") {
  std::atomic<int> received{0};
  TestNode t;
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message&) {
    ++received;
    return gen::Continue();
  }});
  for (int i = 0; i < 4; ++i) CHECK(t.node.JoinGroup("g", pid));
  CHECK_THROWS_AS((void)t.node.SendToGroup("g", CopiedTwice(std::make_shared<int>(0))),
                  std::runtime_error);
  CHECK(kit::Eventually([&] { return received == 2; }));
  CHECK(t.node.SendToGroup("g", "a text").value() == 4);
  CHECK(kit::Eventually([&] { return received == 6; }));
}

TEST_CASE("groups: one of them, in strict rotation while others come and go") {
  TestNode t;
  PIDs pids;
  for (int i = 0; i < 4; ++i) {
    pids.push_back(t.Spawn(
        {.call = [i](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(i); }}));
    CHECK(t.node.JoinGroup("g", pids.back()));
  }
  const auto next = [&] { return t.node.OneOf("g").value(); };
  for (int i = 0; i < 9; ++i) CHECK(next() == pids[i % 4]);
  CHECK(next() == pids[1]);
  CHECK(t.node.LeaveGroup("g", pids[1]));  // was the last one
  CHECK(next() == pids[2]);
  CHECK(t.node.LeaveGroup("g", pids[3]));  // would be the next one
  CHECK(t.node.JoinGroup("g", pids[1]));
  CHECK(next() == pids[1]);
  CHECK(next() == pids[0]);
  CHECK(t.node.Call<int>(next(), Ask{}).value() == 2);
  CHECK(t.Run(pids[3], [&](Subject& self) {
    CHECK(self.Call<int>(self.OneOf("g").value(), Ask{}).value() == 1);
  }));
}

TEST_CASE("groups: a send to one of them passes full members by") {
  Notes<int> first;
  Notes<int> second;
  TestNode t;
  kit::Gate gate(t.node);
  std::vector<int> none;
  CHECK(t.node.SendToOneOf("g", 1).error() == gen::ErrProcessUnknown);
  const gen::PID one = t.Spawn(Collect(first), {.mailbox_size = 1});
  const gen::PID two = t.Spawn(Collect(second), {.mailbox_size = 1});
  for (const gen::PID pid : {one, two, one}) CHECK(t.node.JoinGroup("g", pid));
  for (const gen::PID pid : {one, two, one, one, two, one}) {
    CHECK(t.node.SendToOneOf("g", 0).value() == pid);
    CHECK(kit::Eventually([&] { return t.node.MessageBalance().queued == 0; }));
  }
  t.Begin(one, [pid = gate.pid()](Subject& self) {
    (void)self.Call<bool>(pid, kit::EnterGate{}, kPatient);
  });
  t.Begin(two, [pid = gate.pid()](Subject& self) {
    (void)self.Call<bool>(pid, kit::EnterGate{}, kPatient);
  });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 2; }));
  CHECK(t.node.Send(one, 1));
  CHECK(t.node.SendToOneOf("g", 2).value() == two);  // the turn was that of one
  auto value = std::make_unique<int>(3);
  CHECK(t.node.SendToOneOf("g", std::move(value)).error() == gen::ErrProcessMailboxFull);
  REQUIRE(value != nullptr);  // NOLINT(bugprone-use-after-move): it comes back
  CHECK(*value == 3);
  gate.Open();
  CHECK(kit::Eventually([&] { return first.size() == 5 && second.size() == 3; }));
  CHECK(first.All() == std::vector<int>{0, 0, 0, 0, 1});
  CHECK(second.All() == std::vector<int>{0, 0, 2});
  CHECK(t.Run(one, [&](Subject& self) { CHECK(self.SendToOneOf("g", 4)); }));
}

class GroupPool : public act::Pool {
 public:
  explicit GroupPool(std::atomic<int>* handled) : handled_(handled) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    JoinGroup("pools").value();
    Handlers counts = {.message = [handled = handled_](Subject&, gen::PID, gen::Message&) {
      ++*handled;
      return gen::Continue();
    }};
    return act::PoolOptions{.pool_size = 2, .worker_factory = Make(std::move(counts))};
  }
  std::atomic<int>* handled_;
};

TEST_CASE("groups: a pool is one member, whose workers get what is sent") {
  std::atomic<int> handled{0};
  TestNode t;
  const auto pool = t.node.Spawn(gen::Factory<GroupPool>(&handled));
  REQUIRE(pool);
  CHECK(t.node.GroupMembers("pools") == PIDs{*pool});
  for (int i = 0; i < 10; ++i) CHECK(t.node.SendToGroup("pools", i).value() == 1);
  CHECK(kit::Eventually([&] { return handled == 10; }));
}

// Keeps what the notices about some groups make of the members, and says whether one did not fit.
class Mirror {
 public:
  explicit Mirror(std::atomic<int>& wrong) : wrong_(wrong) {}
  void Begin(gen::Atom group, const PIDs& members) {
    members_[group] = std::multiset<gen::PID>(members.begin(), members.end());
  }
  void End(gen::Atom group) { members_.erase(group); }
  void Note(gen::Message& message) {
    if (const auto* joined = message.As<gen::MessageGroupJoined>()) {
      if (members_.count(joined->group) == 0) ++wrong_;
      for (const gen::PID pid : joined->pids) members_[joined->group].insert(pid);
    } else if (const auto* left = message.As<gen::MessageGroupLeft>()) {
      auto& members = members_[left->group];
      for (const gen::PID pid : left->pids) {
        const auto found = members.find(pid);
        if (found == members.end()) {
          ++wrong_;
        } else {
          members.erase(found);
        }
      }
    }
  }
  [[nodiscard]] PIDs Of(gen::Atom group) const {
    const auto found = members_.find(group);
    return found == members_.end() ? PIDs() : PIDs(found->second.begin(), found->second.end());
  }

 private:
  std::atomic<int>& wrong_;
  std::map<gen::Atom, std::multiset<gen::PID>> members_;
};

TEST_CASE("groups: the notices add up to the members, whoever joins, leaves, ends and monitors") {
  const std::vector<gen::Atom> groups{"red", "green", "blue"};
  constexpr int kWatchers = 4;
  std::atomic<int> wrong{0};
  std::atomic<std::int64_t> sent{0};
  std::atomic<std::int64_t> received{0};
  std::vector<Mirror> mirrors(kWatchers, Mirror(wrong));
  TestNode t;
  PIDs watchers;
  for (Mirror& mirror : mirrors) {
    watchers.push_back(t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
      mirror.Note(message);
      return gen::Continue();
    }}));
  }
  for (int i = 0; i < kWatchers; i += 2) {  // some from the beginning
    CHECK(t.Run(watchers[i], [&](Subject& self) {
      for (const gen::Atom group : groups) {
        mirrors[i].Begin(group, self.MonitorGroup(group).value());
      }
    }));
  }
  PIDs members;  // they live for the whole test; several threads let the same ones join and leave
  for (int i = 0; i < 6; ++i) {
    members.push_back(t.Spawn({.message = [&](Subject&, gen::PID, gen::Message&) {
      ++received;
      return gen::Continue();
    }}));
  }
  const int rounds = kit::Scaled(3000);
  {
    kit::Threads threads;
    for (unsigned seed = 0; seed < 3; ++seed) {
      threads.Start([&, seed] {
        std::mt19937 random(seed);
        for (int i = 0; i < rounds; ++i) {
          const gen::Atom group = groups[random() % groups.size()];
          const gen::PID pid = members[random() % members.size()];
          if (random() % 2 == 0) {
            if (!t.node.JoinGroup(group, pid)) ++wrong;
          } else {
            const auto left = t.node.LeaveGroup(group, pid);
            if (!left && left.error() != gen::ErrProcessUnknown) ++wrong;
          }
        }
      });
    }
    // Processes that join on their own, and end while others let them join and leave.
    threads.Start([&] {
      std::mt19937 random(17);
      for (int i = 0; i < rounds / 4; ++i) {
        auto pid = t.node.Spawn([&, number = random()](gen::Process& self) {
          for (const gen::Atom group : groups) {
            if (!self.JoinGroup(group)) ++wrong;
          }
          if (number % 2 == 0 && !self.LeaveGroup(groups[0])) ++wrong;
          if (number % 3 == 0) self.Yield();
        });
        if (!pid) {
          ++wrong;
          continue;
        }
        for (const gen::Atom group : groups) {
          const auto joined = t.node.JoinGroup(group, *pid);
          if (!joined && joined.error() != gen::ErrProcessTerminated) ++wrong;
        }
        if (random() % 4 == 0) (void)t.node.Kill(*pid);
        (void)t.node.LeaveGroup(groups[1], *pid);
      }
    });
    // Watchers that come and go.
    threads.Start([&] {
      for (int i = 0; i < rounds / 4; ++i) {
        const int watcher = 1 + 2 * (i % 2);
        const gen::Atom group = groups[static_cast<std::size_t>(i / 2) % groups.size()];
        (void)t.Run(watchers[watcher], [&](Subject& self) {
          auto now = self.MonitorGroup(group);
          if (now) {
            mirrors[watcher].Begin(group, *now);
          } else {
            if (!self.DemonitorGroup(group)) ++wrong;
            mirrors[watcher].End(group);
          }
        });
      }
    });
    threads.Start([&] {
      for (int i = 0; i < rounds / 4; ++i) {
        for (const gen::Atom group : groups) {
          (void)t.node.OneOf(group);
          (void)t.node.Groups();
          for (const gen::PID pid : t.node.GroupMembers(group)) {
            if (std::find(members.begin(), members.end(), pid) == members.end()) continue;
            if (t.node.Send(pid, 1)) ++sent;
          }
        }
      }
    });
    threads.Join();
  }
  REQUIRE(t.EventuallyProcesses(kWatchers + members.size()));
  for (int i = 0; i < kWatchers; ++i) {
    // After the notices, which are of higher priority.
    CHECK(t.Run(watchers[i], [&](Subject& self) {
      for (const gen::Atom group : groups) {
        if (i % 2 == 1 && !self.DemonitorGroup(group)) continue;
        PIDs now = self.GroupMembers(group);
        std::sort(now.begin(), now.end());
        CHECK(mirrors[i].Of(group) == now);
      }
    }));
  }
  CHECK(wrong == 0);
  CHECK(kit::Eventually([&] { return received == sent; }));
  for (const gen::PID pid : members) CHECK(t.node.Kill(pid));
  REQUIRE(t.EventuallyProcesses(kWatchers));
  CHECK(t.node.Groups().empty());
  CHECK(t.Run(watchers[0], [&](Subject&) {
    for (const gen::Atom group : groups) CHECK(mirrors[0].Of(group).empty());
  }));
}

TEST_CASE(
    "groups: a process joins and leaves ten thousand groups, and a group has as many members") {
  TestNode t;
  const int count = kit::Scaled(10'000);
  const gen::PID pid = t.Spawn();
  for (int i = 0; i < count; ++i) CHECK(t.node.JoinGroup("many" + std::to_string(i % 1000), pid));
  CHECK(t.node.Groups().size() == static_cast<std::size_t>(std::min(count, 1000)));
  PIDs others;
  for (int i = 0; i < count; ++i) {
    others.push_back(t.Spawn());
    CHECK(t.node.JoinGroup("crowd", others.back()));
  }
  CHECK(t.node.GroupMembers("crowd") == others);
  CHECK(t.node.SendToGroup("crowd", End{}).value() == others.size());
  CHECK(t.node.Kill(pid));
  REQUIRE(t.EventuallyProcesses(0));
  CHECK(t.node.Groups().empty());
}

}  // namespace
}  // namespace ergon::node
