// How a process is spawned, and how a call is made.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <ergon/gen/atom.h>
#include <ergon/gen/environment.h>
#include <ergon/gen/log_level.h>
#include <ergon/gen/mailbox.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/priority.h>
#include <ergon/gen/trace.h>

namespace ergon::gen {

// Where a full mailbox sends the messages it would refuse or drop; see MessageFallback. At a pool: the messages that
// find all workers full. Requests are not passed on: their callers get ErrProcessMailboxFull.
struct ProcessFallback {
  Atom name = {};        // the registered name of a process on this node; empty: none
  std::string tag = {};  // sent along with each message
};

// How long Init may take if the options say nothing.
inline constexpr std::chrono::nanoseconds kDefaultInitTimeout = std::chrono::seconds(5);
inline constexpr std::chrono::nanoseconds kInfinite = std::chrono::nanoseconds::max();

struct ProcessOptions {
  // Messages of normal priority that may wait, 1..4,000,000; 0: as NodeOptions::mailbox_size says, by default any
  // number. A send beyond it returns ErrProcessMailboxFull. Short for mailbox = Mailbox::Bounded(mailbox_size).
  int mailbox_size = 0;
  // Which messages may wait, and in which order; see gen/mailbox.h. Pools keep the order of arrival: for their workers,
  // choose PoolOptions::worker_mailbox.
  gen::Mailbox mailbox = {};
  // Messages that handlers may stash (Stash, Postpone), 1 or more; 0: any number.
  int stash_size = 0;
  // The priority of all its messages and requests that name none, also of timers and to groups; not of events. What it
  // sends to a pool with high or max the pool handles itself.
  MessagePriority send_priority = MessagePriority::kNormal;
  // The leader of the process's tree: see Process::Leader. Empty: the parent's leader; for Node::Spawn, the process
  // itself.
  PID leader = {};
  // Links it with the process that spawns it. Without, it outlives that process. Both options mean the same, because
  // links are symmetric. Node::Spawn ignores them: no process spawns there.
  bool link_parent = false;
  bool link_child = false;
  // A thread of its own, for handlers that block it.
  bool detached = false;
  // How long Init may take, more than 0; kInfinite: without limit. The time that Init waits counts, and so does the
  // Init of each process that it spawns: a pool's workers, a supervisor's children. When the time is up the process is
  // killed, and Spawn returns kTimeout, which names the behaviour and the time. Only an Init that is suspended (in
  // Call, Sleep, Await, Spawn) can be ended then. An Init that computes or blocks its thread ends at its next wait.
  // Node::Spawn, and the Spawn of a detached process, do not wait for that; the Spawn of any other process from inside
  // a handler has to. A time-out of a second or more may end up to 10 ms early.
  std::chrono::nanoseconds init_timeout = kDefaultInitTimeout;
  // The lowest level of its log lines; none: that of the process that spawns it, or the node's.
  std::optional<LogLevel> log_level = std::nullopt;
  // Lets a handler that sends very many messages give way now and then inside Send, as with Process::Yield, so that
  // receivers keep up and the messages stay in the caches. Such a handler must not hold a lock while it sends, and may
  // go on on another thread.
  bool yield_on_send = false;
  ProcessFallback fallback = {};
  // Values beyond those that the process inherits, which these override; see Process::Env.
  Environment environment = {};
};

// The time-out of calls and inspections if none is given.
inline constexpr std::chrono::nanoseconds kDefaultCallTimeout = std::chrono::seconds(5);

struct CallOptions {
  // More than 0; kInfinite: no limit. One of a second or more may end 10 ms late.
  std::chrono::nanoseconds timeout = kDefaultCallTimeout;
  std::optional<MessagePriority> priority = std::nullopt;  // none: the sender's send_priority
  TraceId trace = 0;  // 0: that of the message the sender handles, if it has one
};

}  // namespace ergon::gen
