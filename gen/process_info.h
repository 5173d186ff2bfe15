// A moment's view of one process.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/environment.h>
#include <ergon/gen/event.h>
#include <ergon/gen/log_level.h>
#include <ergon/gen/pid.h>

namespace ergon::gen {

enum class ProcessState : std::uint8_t {
  kStarting,     // its Init has not begun; in Init it is running or waiting, as in a handler
  kIdle,         // nothing to do
  kReady,        // has something to do, also in a handler, and waits for a thread
  kRunning,      // in a handler
  kWaiting,      // suspended in a Call or Sleep
  kTerminating,  // ends
};

constexpr std::string_view ToString(ProcessState state) {
  switch (state) {
    case ProcessState::kStarting:
      return "starting";
    case ProcessState::kIdle:
      return "idle";
    case ProcessState::kReady:
      return "ready";
    case ProcessState::kRunning:
      return "running";
    case ProcessState::kWaiting:
      return "waiting";
    case ProcessState::kTerminating:
      return "terminating";
  }
  return "unknown";
}

// Read without stopping the process: each field is true at some moment, not all at the same one.
struct ProcessInfo {
  PID pid;
  Atom name;             // empty: not registered
  std::string behavior;  // class name
  PID leader;            // see Process::Leader
  PID parent;            // the node's own PID for processes spawned by Node::Spawn
  ProcessState state = ProcessState::kIdle;
  // While it is running or waiting: the type of the message that it handles, as its kTag if it has one; "Init or a
  // signal" where no message is. "Init" and "Terminate" while it starts and ends; idle or ready: empty.
  std::string handles;
  std::uint64_t messages_queued = 0;      // normal priority, waiting; exact up to 4,194,303
  std::uint64_t messages_handled = 0;     // all priorities; without signals and notices
  std::uint64_t messages_dropped = 0;     // not handled: expired requests, cancelled ticks
  std::uint64_t messages_overflowed = 0;  // dropped because the mailbox was full
  std::uint64_t messages_held = 0;        // stashed, or taken by the behaviour to be passed on
  std::uint64_t messages_sent = 0;        // by it, and accepted
  // 0: unbounded, or a pool, of which act::PoolStats::worker_mailbox_size tells.
  std::uint32_t mailbox_size = 0;
  std::string mailbox;     // its kind, as in "bounded 100, drop oldest"
  bool suspended = false;  // see Node::Suspend
  bool trap_exit = false;
  bool detached = false;
  LogLevel log_level = LogLevel::kInfo;
  Atom application;  // the application it belongs to: both have the same leader; empty: none
  std::chrono::nanoseconds uptime{0};  // since its spawn, or up to 10 ms more
  // With NodeOptions::measure_running_time: the time of its turns, without the one that runs now, and how many turns
  // there were. An Init that runs in its parent's turn counts there.
  std::chrono::nanoseconds running_time{0};
  std::uint64_t turns = 0;
  std::vector<PID> links;
  std::vector<PID> monitors;  // processes that this one monitors
  std::vector<PID> monitored_by;
  std::vector<Alias> aliases;
  std::vector<Atom> events;          // events it is the producer of
  std::vector<Event> subscriptions;  // to events, by MonitorEvent or LinkEvent
  std::vector<Atom> groups;          // groups it is in, once for each membership
  Environment environment;           // the values it has inherited and set
};

}  // namespace ergon::gen
