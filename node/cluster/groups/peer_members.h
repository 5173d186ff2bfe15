// The members of groups that one other node has told of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/groups/group_messages.h>
#include <ergon/node/groups/group_transport.h>

namespace ergon::dist {

// A process may be in a group several times; each time is a membership, which has a number in the group here. One
// thread.
class PeerMembers {
 public:
  explicit PeerMembers(node::RemoteMembers& all) : all_(all) {}

  // The node has told all its members: those that are not among them leave, new ones join.
  void Set(MembersByGroup now);
  void Join(gen::Atom group, const std::vector<gen::PID>& pids);
  // A message of the kind kLeave: each of many processes leaves each of many groups. The work depends on the groups
  // that the processes are in, not on the number of pairs.
  void Leave(const GroupMessage& message);
  // All members leave.
  void Clear();

  // For tests: how often a process was looked for in a group because of messages of the kind kLeave.
  [[nodiscard]] std::uint64_t Looks() const noexcept { return looks_; }

 private:
  // Memberships by process, the last one of a process last.
  using Memberships = std::multimap<gen::PID, std::uint64_t>;

  // Each of `pids` leaves the group once.
  void LeaveOnce(gen::Atom group, const std::vector<gen::PID>& pids);
  // Returns those of the groups that the process is in; `groups` is a map by group.
  template <class Groups>
  std::vector<gen::Atom> GroupsWith(gen::PID pid, const Groups& groups);
  // Ends at most `most` memberships of a process, the last one first, as on one node, and appends them to `ended`.
  void EndMemberships(gen::Atom group, gen::PID pid, std::size_t most,
                      std::vector<std::uint64_t>& ended);

  node::RemoteMembers& all_;
  std::map<gen::Atom, Memberships> groups_;
  std::map<gen::PID, std::set<gen::Atom>> groups_of_;  // by process
  std::uint64_t looks_ = 0;
};

}  // namespace ergon::dist
