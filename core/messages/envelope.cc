#include <ergon/core/messages/envelope.h>

namespace ergon::core {

void ConsumeValue(Envelope& envelope) noexcept {
  if ((envelope.flags & Envelope::kFlagConsumed) != 0) return;
  envelope.flags |= Envelope::kFlagConsumed;
  if (envelope.type != nullptr && envelope.type->destroy != nullptr) {
    envelope.type->destroy(envelope.Value());
  }
}

void Envelope::SetNumbers(std::uint64_t tag, std::uint64_t trace) noexcept {
  if (tag != 0) {
    flags |= kFlagTagged;
    new (&Tag()) std::uint64_t(tag);
  }
  if (trace != 0) {
    flags |= kFlagTraced;
    new (&Trace()) std::uint64_t(trace);
  }
}

void DisposeEnvelope(Envelope* envelope) noexcept {
  if (envelope == nullptr) return;
  if (HasValueToDestroy(*envelope)) ConsumeValue(*envelope);
  FreeEnvelope(envelope, envelope->size_class);
}

EnvelopePtr MakeSignal(std::uint8_t kind, Lane lane) {
  std::uint8_t size_class = 0;
  void* memory = AllocateEnvelope(sizeof(Envelope), size_class);
  return EnvelopePtr(new (memory)
                         Envelope{nullptr, nullptr, {}, 0, 0, 0, kind, lane, size_class, 0});
}

}  // namespace ergon::core
