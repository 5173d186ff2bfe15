// Process groups under many interleavings and ends: the notices add up to the members, and what is sent to a group is
// received, or accounted for.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <ergon/gen/group.h>
#include <ergon/gen/process.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::groups_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Text {
  int number = 0;
};

// What a watcher makes of its notices.
struct Watched {
  std::multiset<gen::PID> members;
  int wrong = 0;
  bool is_watching = false;
};

void Watch(gen::Process& self, gen::Atom group, Watched& watched, int rounds, bool stays) {
  for (int round = 0; round < rounds; ++round) {
    const auto now = self.MonitorGroup(group);
    if (!now) return;
    watched.members = std::multiset<gen::PID>(now->begin(), now->end());
    watched.is_watching = true;
    const bool is_last = stays && round + 1 == rounds;
    for (int notices = 0; is_last || notices < 5; ++notices) {
      auto next = self.Receive<gen::MessageGroupJoined, gen::MessageGroupLeft>(
          is_last ? gen::kInfinite : std::chrono::nanoseconds(20us));
      if (!next && next.error() == gen::ErrTimeout) break;
      if (!next) return;
      if (const auto* joined = std::get_if<gen::MessageGroupJoined>(&*next)) {
        watched.members.insert(joined->pids.begin(), joined->pids.end());
        continue;
      }
      for (const gen::PID pid : std::get<gen::MessageGroupLeft>(*next).pids) {
        const auto found = watched.members.find(pid);
        if (found == watched.members.end()) {
          ++watched.wrong;
        } else {
          watched.members.erase(found);
        }
      }
    }
    if (is_last || !self.DemonitorGroup(group)) return;
    watched.is_watching = false;
  }
}

TEST_CASE("groups: at every seed the notices add up to the members, and the copies to the sends") {
  Simulation::ForSeeds(1, 300, [](Simulation& sim) {
    gen::Node& node = sim.Node("groups@sim");
    const std::vector<gen::Atom> groups{"a", "b"};
    struct Seen {
      std::map<gen::Atom, Watched> watched[3];
      std::uint64_t received = 0;
      std::uint64_t sent = 0;
    };
    const auto seen = std::make_shared<Seen>();
    std::vector<gen::PID> watchers;
    for (auto& watched : seen->watched) {
      for (const gen::Atom group : groups) {
        const auto pid = node.Spawn([seen, &of_group = watched[group], group,
                                     rounds = static_cast<int>(sim.Random(1, 4)),
                                     stays = sim.Chance(0.7)](gen::Process& self) {
          Watch(self, group, of_group, rounds, stays);
          // Notices may still be on their way to one that only ends.
          if (!stays) of_group.is_watching = false;
        });
        REQUIRE(pid);
        watchers.push_back(*pid);
      }
    }
    std::vector<gen::PID> members;
    const int bound = static_cast<int>(sim.Random(0, 3));
    for (int i = 0; i < 8; ++i) {
      const auto pid = node.Spawn(
          [seen, groups, changes = static_cast<int>(sim.Random(1, 6)),
           first = static_cast<std::size_t>(sim.Random(0, 1)), stays = sim.Chance(0.5),
           patience = sim.Random(1us, 40us)](gen::Process& self) {
            for (int change = 0; change < changes; ++change) {
              const gen::Atom group = groups[(first + static_cast<std::size_t>(change)) % 2];
              CHECK(self.JoinGroup(group));
              if (change % 3 == 2) CHECK(self.LeaveGroup(group));
              if (auto sent = self.SendToGroup(group, Text{change})) seen->sent += *sent;
              while (self.Receive<Text>(patience)) ++seen->received;
              if (self.SendToOneOf(group, Text{change})) ++seen->sent;
            }
            while (stays && self.Receive<Text>()) ++seen->received;
          },
          {.mailbox_size = bound});
      REQUIRE(pid);
      members.push_back(*pid);
      if (sim.Chance(0.3)) sim.Kill(*pid, sim.Random(0us, 300us));
      if (sim.Chance(0.3)) {
        sim.After(sim.Random(0us, 200us), [&node, pid = *pid] { (void)node.JoinGroup("a", pid); });
        sim.After(sim.Random(0us, 200us), [&node, pid = *pid] { (void)node.LeaveGroup("b", pid); });
      }
    }
    if (sim.Chance(0.2)) sim.Kill(watchers.front(), sim.Random(0us, 200us));
    sim.RunUntilIdle();
    sim.ExpectConservation();
    const auto check = [&] {
      for (const auto& watched : seen->watched) {
        for (const auto& [group, of_group] : watched) {
          CHECK(of_group.wrong == 0);
          const bool was_killed = &watched == &seen->watched[0] && group == groups.front() &&
                                  !node.ProcessInfo(watchers[0]);
          if (!of_group.is_watching || was_killed) continue;
          std::vector<gen::PID> now = node.GroupMembers(group);
          CHECK(std::multiset<gen::PID>(now.begin(), now.end()) == of_group.members);
        }
      }
    };
    check();
    for (const gen::Atom group : groups) {
      for (const gen::PID pid : node.GroupMembers(group)) CHECK(node.ProcessInfo(pid));
    }
    // What a member had not received when it ended is among what was dropped.
    CHECK(seen->received <= seen->sent);
    CHECK(seen->sent - seen->received <= node.Info().dropped_terminated);
    for (const gen::PID pid : members) (void)node.Kill(pid);
    sim.RunUntilIdle();
    check();
    CHECK(node.Groups().empty());
    for (const gen::PID pid : watchers) (void)node.Kill(pid);
    sim.RunUntilIdle();
    sim.ExpectConservation();
    CHECK(node.Info().processes == 0);
  });
}

}  // namespace
}  // namespace ergon::testkit::groups_test
