// How a parent ends a child: asked first, killed when its time is up. For those who write behaviours;
// inside the parent's turns.
#pragma once

#include <chrono>

#include <ergon/gen/host/process_host.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/timer_handle.h>

namespace ergon::gen {

// What the parent gets as kOwnTimer when a child's time is up: it has to Kill it then.
struct ChildTimeout {
  PID child;
};

// Asks a child to end with reason shutdown after what waits in its mailbox. `timeout` is how long it
// may take; 0: it is killed at once; kInfinite: as long as it likes. The handle cancels the
// ChildTimeout.
TimerHandle EndChild(ProcessHost& parent, PID child, std::chrono::nanoseconds timeout);

// The same, and suspends the parent until the child has ended.
void EndChildAndWait(ProcessHost& parent, PID child, std::chrono::nanoseconds timeout);

}  // namespace ergon::gen
