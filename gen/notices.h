// The messages that the runtime itself sends to processes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/alias.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/message.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_id.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/ref.h>

namespace ergon::gen {

// A monitored process has ended. Priority high; to HandleMessage.
struct MessageDownPID {
  PID pid;
  Ref ref;  // what Monitor returned
  Reason reason;
};
// A process monitored by its name has ended, or has given the name up.
struct MessageDownProcessID {
  ProcessID process_id;
  Ref ref;
  Reason reason;
};
// A process monitored by an alias has ended, or has deleted the alias.
struct MessageDownAlias {
  Alias alias;
  Ref ref;
  Reason reason;
};

// An exit signal: a linked process has ended, or somebody called SendExit. It reaches HandleMessage (priority max) only
// if the process traps exits, the sender is not its parent, and it is no SendExit with Reason::Kill(). Otherwise it
// ends the process, except for the reason normal of a linked process that is not its parent, which does nothing.
struct MessageExitPID {
  PID pid;
  Reason reason;
};
// The exit signal of a link by a name or an alias: the process has ended, or has given it up (reason "unregistered").
struct MessageExitProcessID {
  ProcessID process_id;
  Reason reason;
};
struct MessageExitAlias {
  Alias alias;
  Reason reason;
};

// A message that a full mailbox passes on to its fallback process (ProcessOptions::fallback).
struct MessageFallback {
  PID pid;          // whose mailbox was full
  std::string tag;  // as given in the options
  OwnedMessage message;
};

// -- for behaviours only --

// A process that was spawned with ProcessHost::SpawnChildAsync or PoolHost::SpawnWorkerAsync has finished its Init.
struct MessageStarted {
  PID pid;
};

// A process has ended and leaves the messages that it has not handled to its heir. If the heir has ended too, the
// heir's own heir gets them: messages that wait at the workers of a pool that is itself a worker go back to the outer
// pool.
struct MessageInheritance {
  PID pid;
  Reason reason;
  std::vector<core::EnvelopePtr> messages;  // stashed, then Main lane, in order of arrival
  std::uint64_t handled = 0;                // Main-lane messages that reached it through its pool
  bool holds_current = false;               // it ended while it was handling one of those
  // Whether this brings a message that was on its way when the process ended. The end itself had a notice before.
  bool late = false;
  // Whether `pid` is a worker's worker, or one further down.
  bool indirect = false;
  // How many of those handled were requests skipped because they had timed out.
  std::uint64_t expired = 0;
};

// A question of Node::Inspect; with empty `items`: everything.
struct InspectRequest {
  std::vector<std::string> items;
  // The struct that is asked for instead of the texts, or null. A process without such a struct answers with the texts.
  const core::TypeDescriptor* wanted = nullptr;
};

namespace detail {
inline core::EnvelopePtr MakeInspection(std::vector<std::string> items,
                                        const core::TypeDescriptor* wanted) {
  return core::MakeEnvelope<InspectRequest>(static_cast<std::uint8_t>(EnvelopeKind::kInspect),
                                            core::Lane::kUrgent,
                                            InspectRequest{std::move(items), wanted});
}
}  // namespace detail

}  // namespace ergon::gen
