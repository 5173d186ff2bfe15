// A number that travels with messages and requests, and appears in the log lines of the processes that handle them.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>

namespace ergon::gen {

// A trace id is a number that a process chooses when it begins something that others go on with: any number of its own,
// or a NewTraceId. 0 means that there is none. What a process sends while it handles something with a trace id
// (messages, delayed ones, requests, answers, values of events, SendExit) has the same trace id, and so have the
// processes that it spawns meanwhile, until they handle something else. All ticks of a periodic send have the trace id
// with which it was begun. Between nodes it travels as the trace token of Erlang's seq_trace (node/ERLANG.md). See
// Process::SetTrace, Messenger::SendTraced, CallOptions::trace.
using TraceId = std::uint64_t;

// Returns a random trace id. May be called from any thread.
[[nodiscard]] TraceId NewTraceId();
// Returns 16 hexadecimal digits, as in log lines.
[[nodiscard]] std::string TraceText(TraceId trace);

// -- for the runtime --

[[nodiscard]] inline bool IsTraced(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagTraced) != 0;
}
// Returns whether the trace id stands behind the value. Other envelopes keep it in `deadline`; in a request that field
// is the deadline, in a tick the timer's number. Such an envelope must get its trace id when it is made.
[[nodiscard]] inline bool HasTraceBehind(const core::Envelope& envelope) noexcept {
  return envelope.kind == static_cast<std::uint8_t>(EnvelopeKind::kRequest) ||
         (envelope.flags & core::Envelope::kFlagStamped) != 0;
}
// Returns the trace id of an envelope; 0: it has none.
[[nodiscard]] inline TraceId TraceOf(const core::Envelope& envelope) noexcept {
  if (!IsTraced(envelope)) return 0;
  if (HasTraceBehind(envelope)) return envelope.Trace();
  return static_cast<TraceId>(envelope.deadline);
}
// Gives a trace id to an envelope that has its place in front of the value.
inline void MarkTraced(core::Envelope& envelope, TraceId trace) noexcept {
  envelope.flags |= core::Envelope::kFlagTraced;
  envelope.deadline = static_cast<std::int64_t>(trace);
}

}  // namespace ergon::gen
