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

// An exit signal: a linked process has ended, or somebody called SendExit. It reaches HandleMessage
// (priority max) only if the process traps exits and the sender is not its parent; otherwise it
// ends the process, unless the reason is normal and it comes from a link.
struct MessageExitPID {
  PID pid;
  Reason reason;
};
// The same of a link by a name or an alias: the process has ended, or has given it up ("unregistered").
struct MessageExitProcessID {
  ProcessID process_id;
  Reason reason;
};
struct MessageExitAlias {
  Alias alias;
  Reason reason;
};

// What a full mailbox passes to its fallback process (ProcessOptions::fallback).
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

// A process has ended and leaves to its heir what it has not handled. If the heir has ended too, its own heir
// gets it: what waits at the workers of a pool that is a worker goes back to the outer pool.
struct MessageInheritance {
  PID pid;
  Reason reason;
  std::vector<core::EnvelopePtr> messages;  // stashed, then Main lane, in order of arrival
  std::uint64_t handled = 0;                // Main-lane messages that reached it through its pool
  bool holds_current = false;               // ended while it was handling one of those
  // Not the end itself, which was told before, but a message that was on its way then.
  bool late = false;
  // `pid` is a worker's worker, or one further down.
  bool indirect = false;
  // Of those handled, the requests skipped because their time was up.
  std::uint64_t expired = 0;
};

// A question of Node::Inspect; empty `items`: everything.
struct InspectRequest {
  std::vector<std::string> items;
  // A struct that is asked for instead of the texts, or null. Who does not have it answers with the texts.
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
