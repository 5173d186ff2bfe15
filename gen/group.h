// Process groups: what those who watch one are told.
#pragma once

#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>

namespace ergon::gen {

// To those who monitor a group (Process::MonitorGroup): these processes have joined it. One notice for each
// join, in the order in which the group has changed. Priority high; to HandleMessage.
struct MessageGroupJoined {
  Atom group;
  std::vector<PID> pids;
};
// These have left it, by themselves, by Node::LeaveGroup or by their end. A process that was several times in the
// group when it ended stands in the one notice of its end as many times.
struct MessageGroupLeft {
  Atom group;
  std::vector<PID> pids;
};

}  // namespace ergon::gen
