// Process groups: the notices for processes that monitor one.
#pragma once

#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>

namespace ergon::gen {

// Sent to processes that monitor a group (Process::MonitorGroup): these processes have joined it. One notice comes for
// each join, in the order in which the group has changed. Priority high; to HandleMessage.
struct MessageGroupJoined {
  Atom group;
  std::vector<PID> pids;
};
// These processes have left the group, by themselves, by Node::LeaveGroup or by their end. A process that was in the
// group several times when it ended appears as many times in the one notice of its end.
struct MessageGroupLeft {
  Atom group;
  std::vector<PID> pids;
};

}  // namespace ergon::gen
