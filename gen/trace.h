// A number that travels with messages and requests, and stands in the log lines of whoever handles them.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>

namespace ergon::gen {

// Chosen by who begins something that others go on with: a number of the user's, or a NewTraceId. 0: none. What a
// process sends while it handles something that has a trace id (messages, delayed ones, requests, answers) has the
// same one, and so has what it spawns then, until that handles something else. Events and periodic sends have none,
// nor has what goes to another node. See Process::SetTrace, Messenger::SendTraced, CallOptions::trace.
using TraceId = std::uint64_t;

// A random one. Any thread.
[[nodiscard]] TraceId NewTraceId();
// 16 hexadecimal digits, as in log lines.
[[nodiscard]] std::string TraceText(TraceId trace);

// -- for the runtime --

[[nodiscard]] inline bool IsTraced(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagTraced) != 0;
}
// Only with IsTraced.
[[nodiscard]] inline TraceId TraceOf(core::Envelope& envelope) noexcept {
  if (envelope.kind == static_cast<std::uint8_t>(EnvelopeKind::kRequest)) return envelope.Trace();
  return static_cast<TraceId>(envelope.deadline);
}
// Of a message or an answer, which have no deadline. A request has been made with its trace id.
inline void MarkTraced(core::Envelope& envelope, TraceId trace) noexcept {
  envelope.flags |= core::Envelope::kFlagTraced;
  envelope.deadline = static_cast<std::int64_t>(trace);
}

}  // namespace ergon::gen
