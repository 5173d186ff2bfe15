// A number that travels with messages and requests, and appears in the log lines of the processes that handle them.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>

namespace ergon::gen {

// Chosen by the process that begins something that others go on with: a number of the user's, or a NewTraceId. 0: none.
// What a process sends while it handles something with a trace id (messages, delayed ones, requests, answers) has the
// same trace id, and so have the processes that it spawns meanwhile, until they handle something else. Events and
// periodic sends have no trace id, nor has anything that goes to another node. See Process::SetTrace,
// Messenger::SendTraced, CallOptions::trace.
using TraceId = std::uint64_t;

// Returns a random trace id. May be called from any thread.
[[nodiscard]] TraceId NewTraceId();
// Returns 16 hexadecimal digits, as in log lines.
[[nodiscard]] std::string TraceText(TraceId trace);

// -- for the runtime --

[[nodiscard]] inline bool IsTraced(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagTraced) != 0;
}
// Returns the trace id of an envelope for which IsTraced is true.
[[nodiscard]] inline TraceId TraceOf(core::Envelope& envelope) noexcept {
  if (envelope.kind == static_cast<std::uint8_t>(EnvelopeKind::kRequest)) return envelope.Trace();
  return static_cast<TraceId>(envelope.deadline);
}
// Gives a trace id to a message or an answer, which have no deadline. A request gets its trace id when it is made.
inline void MarkTraced(core::Envelope& envelope, TraceId trace) noexcept {
  envelope.flags |= core::Envelope::kFlagTraced;
  envelope.deadline = static_cast<std::int64_t>(trace);
}

}  // namespace ergon::gen
