#include <ergon/node/cluster/groups/peer_members.h>

#include <iterator>
#include <utility>

namespace ergon::dist {

void PeerMembers::Set(MembersByGroup now) {
  MembersByGroup left;
  for (const auto& [group, memberships] : groups_) {
    for (const auto& [pid, membership] : memberships) {
      const auto members = now.find(group);
      const auto member =
          members == now.end() ? std::multiset<gen::PID>::iterator() : members->second.find(pid);
      if (members == now.end() || member == members->second.end()) {
        left[group].insert(pid);
      } else {
        members->second.erase(member);  // it is there already
      }
    }
  }
  for (const auto& [group, pids] : left) LeaveOnce(group, {pids.begin(), pids.end()});
  for (const auto& [group, pids] : now) Join(group, {pids.begin(), pids.end()});
}

void PeerMembers::Join(gen::Atom group, const std::vector<gen::PID>& pids) {
  if (pids.empty()) return;
  const std::vector<std::uint64_t> joined = all_.JoinFromAfar(group, pids);
  Memberships& memberships = groups_[group];
  for (std::size_t i = 0; i < pids.size(); ++i) {
    memberships.emplace(pids[i], joined[i]);
    groups_of_[pids[i]].insert(group);
  }
}

void PeerMembers::Clear() {
  for (const auto& [group, memberships] : std::exchange(groups_, {})) {
    std::vector<std::uint64_t> all;
    all.reserve(memberships.size());
    for (const auto& [pid, membership] : memberships) all.push_back(membership);
    all_.LeaveFromAfar(group, all);
  }
  groups_of_.clear();
}

void PeerMembers::EndMemberships(gen::Atom group, gen::PID pid, std::size_t most,
                                 std::vector<std::uint64_t>& ended) {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return;
  Memberships& memberships = found->second;
  const auto is_last_of_it = [&](Memberships::iterator behind) {
    return behind != memberships.begin() && std::prev(behind)->first == pid;
  };
  auto behind = memberships.upper_bound(pid);
  for (; most != 0 && is_last_of_it(behind); --most) {
    ended.push_back(std::prev(behind)->second);
    behind = memberships.erase(std::prev(behind));
  }
  if (!is_last_of_it(behind)) {
    const auto groups = groups_of_.find(pid);
    if (groups != groups_of_.end() && groups->second.erase(group) != 0 && groups->second.empty()) {
      groups_of_.erase(groups);
    }
  }
  if (memberships.empty()) groups_.erase(found);
}

void PeerMembers::LeaveOnce(gen::Atom group, const std::vector<gen::PID>& pids) {
  std::vector<std::uint64_t> ended;
  for (const gen::PID pid : pids) EndMemberships(group, pid, 1, ended);
  if (!ended.empty()) all_.LeaveFromAfar(group, ended);
}

template <class Groups>
std::vector<gen::Atom> PeerMembers::GroupsWith(gen::PID pid, const Groups& groups) {
  std::vector<gen::Atom> both;
  const auto its_groups = groups_of_.find(pid);
  if (its_groups == groups_of_.end()) return both;
  // The shorter one of the two is looked through.
  if (its_groups->second.size() < groups.size()) {
    for (const gen::Atom name : its_groups->second) {
      ++looks_;
      if (groups.contains(name)) both.push_back(name);
    }
  } else {
    for (const auto& [name, group] : groups) {
      ++looks_;
      if (its_groups->second.contains(name)) both.push_back(name);
    }
  }
  return both;
}

void PeerMembers::Leave(const GroupMessage& message) {
  struct Group {
    std::size_t times = 0;  // that the message names it
    std::size_t told = 0;
    // The memberships that end because the message names it, by how often it was named before: each time is a change
    // for itself.
    std::vector<std::vector<std::uint64_t>> ended;
  };
  std::map<gen::Atom, Group> groups;
  std::vector<gen::Atom> in_order;
  for (const GroupMessage::Group& group : message.groups) {
    const auto name = gen::Atom::Find(group.name);
    if (!name || !groups_.contains(*name)) continue;
    ++groups[*name].times;
    in_order.push_back(*name);
  }
  std::map<gen::PID, std::size_t> times;
  for (const gen::PID pid : message.pids) ++times[pid];
  for (const gen::PID pid : message.pids) {
    const std::size_t its_times = std::exchange(times[pid], 0);  // the first time for all
    ++looks_;
    if (its_times == 0) continue;
    for (const gen::Atom name : GroupsWith(pid, groups)) {
      Group& group = groups[name];
      std::vector<std::uint64_t> ended;
      EndMemberships(name, pid, its_times * group.times, ended);
      for (std::size_t i = 0; i < ended.size(); ++i) {
        const std::size_t time = i / its_times;
        if (time >= group.ended.size()) group.ended.resize(time + 1);
        group.ended[time].push_back(ended[i]);
      }
    }
  }
  for (const gen::Atom name : in_order) {
    Group& group = groups[name];
    const std::size_t time = group.told++;
    if (time < group.ended.size()) all_.LeaveFromAfar(name, group.ended[time]);
  }
}

}  // namespace ergon::dist
