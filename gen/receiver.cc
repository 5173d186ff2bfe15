#include <ergon/gen/receiver.h>

#include <ergon/gen/envelope_kind.h>

namespace ergon::gen {

bool Receiver::MayWant(const core::Envelope& envelope) noexcept {
  const auto kind = static_cast<EnvelopeKind>(envelope.kind);
  return IsUserMessage(kind) || kind == EnvelopeKind::kDown || kind == EnvelopeKind::kExit;
}

OtherMessage detail::Received<OtherMessage>::From(core::Envelope& envelope) {
  OtherMessage other{.from = SenderOf(envelope), .type = Message(envelope).TypeName()};
  if (IsRequest(envelope)) other.request = RefOf(envelope);
  return other;
}

}  // namespace ergon::gen
