// Groups of processes and other nodes: what is sent there, and what comes from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>

namespace ergon::node {

// Tells other nodes about the groups of this one. Called by any thread, with the lock of the group, so that the calls
// for one group come in the order of its changes. It must not call back.
class GroupTransport {
 public:
  virtual ~GroupTransport() = default;
  // Tells that `local` has one more membership.
  virtual void Joined(gen::Atom group, gen::PID local) = 0;
  // Tells that `local` has `times` fewer memberships.
  virtual void Left(gen::Atom group, gen::PID local, std::size_t times) = 0;
};

// Members of groups that are processes of other nodes. Any thread; a membership is a number in its group.
class RemoteMembers {
 public:
  virtual ~RemoteMembers() = default;
  // Adds processes, which may be given several times, and returns the membership of each. The processes that monitor
  // the group get one notice for all.
  virtual std::vector<std::uint64_t> JoinFromAfar(gen::Atom group,
                                                  const std::vector<gen::PID>& remote) = 0;
  // Ends memberships that JoinFromAfar has returned, each once.
  virtual void LeaveFromAfar(gen::Atom group, const std::vector<std::uint64_t>& memberships) = 0;
};

}  // namespace ergon::node
