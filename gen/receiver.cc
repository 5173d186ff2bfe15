#include <ergon/gen/receiver.h>

namespace ergon::gen {

bool Receiver::MayWant(const core::Envelope& envelope) noexcept {
  const auto kind = static_cast<EnvelopeKind>(envelope.kind);
  return IsUserMessage(kind) || kind == EnvelopeKind::kDown || kind == EnvelopeKind::kExit;
}

OtherMessage detail::Received<OtherMessage>::From(core::Envelope& envelope) {
  OtherMessage other{.from = PID::FromAddress(envelope.from), .type = Message(envelope).TypeName()};
  if (detail::IsRequest(envelope)) other.request = detail::RequestOf(envelope);
  return other;
}

}  // namespace ergon::gen
