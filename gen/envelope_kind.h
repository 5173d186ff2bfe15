// What the receiver of an envelope has to do with it.
#pragma once

#include <cstdint>

namespace ergon::gen {

// The value of core::Envelope::kind. The comment names the type of the envelope's value.
enum class EnvelopeKind : std::uint8_t {
  kMessage,   // the user's: HandleMessage
  kRequest,   // the user's: HandleCall; `from` waits for the answer with `ref`
  kEvent,     // gen::MessageEvent: HandleEvent
  kResponse,  // the user's: the answer to a request
  kError,     // gen::Error: the answer to a request that failed
  kExit,      // gen::MessageExitPID: an exit signal of a link, or sent by SendExit;
              // gen::MessageExitProcessID or MessageExitAlias: of a link by a name or an alias,
  // `ref` is the link's; gen::MessageExitEvent: of an event, `ref` is the subscription's
  kDown,           // gen::MessageDown...: a monitor fired; `ref` is the monitor's
  kInspect,        // gen::InspectRequest: a question that HandleInspect answers
  kStarted,        // gen::MessageStarted: a process spawned without waiting for its Init is ready
  kInheritance,    // gen::MessageInheritance: what a process left behind
  kKill,           // nothing: end at once
  kOwnTimer,       // the behaviour's: its timer (SendSelfAfter), or what it stashed (StashOwn)
  kSuspend,        // nothing: messages of normal priority wait from now on; `from` is told
  kResume,         // nothing: ends kSuspend
  kStopAfterThis,  // gen::Reason: end when everything before it in the Main lane has been handled
  kProgress,       // nothing: `from`, a worker, is done with a message (WorkerDuty::kReport)
  kShortage,       // nothing: a pool's workers are full (PoolHost::NoteShortage)
  kRoomWanted,  // nothing: senders wait for room at the receiver, or at the pool of which it is a worker
  kHandedOver,  // nothing: the receiver holds the request `ref` of `from` from now on (HandOver)
  kUnmadeMessages,  // the user's, several of kMessage: they are made when the receiver takes them
};

// What users send, and what the counters of processes and nodes count (see MessageBalance).
constexpr bool IsUserMessage(EnvelopeKind kind) { return kind <= EnvelopeKind::kEvent; }
static_assert(IsUserMessage(EnvelopeKind::kMessage) && IsUserMessage(EnvelopeKind::kRequest) &&
              IsUserMessage(EnvelopeKind::kEvent) && !IsUserMessage(EnvelopeKind::kResponse));

// The `ref` of an exit signal that SendExit sent; a link's has 0, or kChildExit if it is that of a
// process to its parent. A process that does not trap exits ignores "normal" from a link, but not
// from SendExit, and not from its parent.
inline constexpr std::uint64_t kExplicitExit = 1;
inline constexpr std::uint64_t kChildExit = 2;

}  // namespace ergon::gen
