// A moment's view of a node.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>

namespace ergon::gen {

// A turn that has lasted longer than NodeOptions::watchdog_after.
struct BusyProcess {
  PID pid;
  Atom name;             // empty: not registered
  std::string behavior;  // class name
  std::string message;   // the type of the message it handles; empty: Init or Terminate
  std::chrono::nanoseconds running_for{0};
};

struct NodeInfo {
  Atom name;
  std::uint32_t creation = 0;
  std::string dispatcher;  // the policy's name
  int workers = 0;
  int throughput = 0;
  std::chrono::nanoseconds uptime{0};
  std::uint64_t processes = 0;          // alive
  std::uint64_t processes_spawned = 0;  // since the start
  std::uint64_t processes_ended = 0;    // and everything they left behind is counted
  std::uint64_t processes_failed = 0;   // ended with a failure (Reason::IsFailure)
  std::uint64_t names = 0;
  std::uint64_t aliases = 0;
  // Armed timers. The timer of a process that has waited, in a Call or a Sleep, stays armed until its time has come or
  // the process ends.
  std::uint64_t timers = 0;
  // Messages that were accepted but will not be handled, by reason:
  std::uint64_t dropped_terminated = 0;  // the receiver ended first
  std::uint64_t dropped_unknown = 0;     // the receiver had ended between look-up and delivery
  // A delayed or re-forwarded message or an event met a full mailbox, the mailbox's policy dropped a message (one that
  // waited, or the new one), or a stash was full:
  std::uint64_t dropped_mailbox_full = 0;
  // Requests whose caller had stopped waiting, and ticks (SendEvery) of cancelled timers:
  std::uint64_t dropped_expired = 0;
  // Messages for other nodes that were not sent when the connection was lost, or could not be made:
  std::uint64_t dropped_no_connection = 0;
  // Messages of other nodes that do not fit the registered type whose tag or keys they have:
  std::uint64_t dropped_unreadable = 0;
  // Messages for which a function of the user's threw: a pool's key, a copy for a broadcast, a mailbox's order:
  std::uint64_t dropped_failed = 0;
  std::uint64_t drops_not_remembered = 0;  // of all these, the ones that Node::LastDrops missed
  std::uint64_t log_lines_left_out = 0;    // see NodeOptions::log_burst
  // The dispatcher's counters:
  std::uint64_t turns = 0;
  std::uint64_t steals = 0;
  std::uint64_t wakeups = 0;
  // About how many processes are ready to run and wait for a worker now.
  std::uint64_t ready = 0;
  // Blocking stretches (gen::Blocking) that got a thread of their own, and those that held up a
  // worker because all NodeOptions::blocking_threads were taken.
  std::uint64_t blocking_lent = 0;
  std::uint64_t blocking_refused = 0;
  std::vector<BusyProcess> busy;  // longest first
};

}  // namespace ergon::gen
