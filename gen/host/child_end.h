// How a parent ends a child: the child is asked first, and killed when its time is up. For authors of behaviours; to be
// called inside the parent's turns.
#pragma once

#include <chrono>

#include <ergon/gen/atom.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/timer_handle.h>

namespace ergon::gen {

// The parent gets this as kOwnTimer when a child's time is up: it calls KillLateChild then.
struct ChildTimeout {
  PID child;
};

// Asks a child to end with reason shutdown when it has handled the messages in its mailbox. `timeout` is how long that
// may take; 0: the child is killed at once; kInfinite: without limit. The handle cancels the ChildTimeout.
TimerHandle EndChild(ProcessHost& parent, PID child, std::chrono::nanoseconds timeout);

// Kills a child that has not ended within `timeout`, and says so in the log. `name` is for people; it may be empty.
void KillLateChild(ProcessHost& parent, PID child, Atom name, std::chrono::nanoseconds timeout);

// As EndChild and KillLateChild, and suspends the parent until the child has ended. A parent that is being ended itself
// cannot wait: it kills the child at once.
void EndChildAndWait(ProcessHost& parent, PID child, Atom name, std::chrono::nanoseconds timeout);

// Returns whether a child's notice does not know the reason, because the child had ended before it was monitored, and
// its exit signal, which has the reason, is still to be handled.
[[nodiscard]] bool IsExitToCome(ProcessHost& parent, const MessageDownPID& notice);

}  // namespace ergon::gen
