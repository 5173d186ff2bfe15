// Who has sent an envelope, and whether the sender waits for an answer.
#pragma once

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>

namespace ergon::gen {

[[nodiscard]] inline bool IsRequest(const core::Envelope& envelope) noexcept {
  return static_cast<EnvelopeKind>(envelope.kind) == EnvelopeKind::kRequest;
}
// Returns the sender; of a request or inspection, the process that waits for the answer.
[[nodiscard]] inline PID SenderOf(const core::Envelope& envelope) noexcept {
  return PID::FromAddress(envelope.from);
}
// Returns the ref with which the answer to a request or inspection is sent.
[[nodiscard]] inline Ref RefOf(const core::Envelope& envelope) noexcept {
  const PID from = SenderOf(envelope);
  return {envelope.ref, from.node, from.creation};
}

}  // namespace ergon::gen
