#include <ergon/node/delivery/unmade_string.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace ergon::node {
namespace {

char* BytesOf(core::Envelope& unmade) noexcept {
  return static_cast<char*>(unmade.Value()) + sizeof(UnmadeString);
}

}  // namespace

core::EnvelopePtr BeginString(std::string_view bytes) {
  // In the same memory the string has to find room later.
  constexpr std::size_t kStringBytes =
      core::EnvelopeBytes(sizeof(std::string), alignof(std::string));
  const std::size_t envelope_bytes = std::max(kUnmadeHeadBytes + bytes.size(), kStringBytes);
  std::uint8_t size_class = 0;
  void* const memory = core::AllocateEnvelope(envelope_bytes, size_class);
  auto* const envelope =
      new (memory) core::Envelope{nullptr,
                                  core::TypeOf<UnmadeString>(),
                                  {},
                                  0,
                                  0,
                                  0,
                                  static_cast<std::uint8_t>(gen::EnvelopeKind::kUnmadeString),
                                  core::Lane::kMain,
                                  size_class,
                                  0};
  new (envelope->Value()) UnmadeString{static_cast<std::uint32_t>(bytes.size())};
  std::memcpy(BytesOf(*envelope), bytes.data(), bytes.size());
  return core::EnvelopePtr(envelope);
}

void MakeString(core::Envelope& unmade) noexcept {
  const std::size_t size = static_cast<const UnmadeString*>(unmade.Value())->size;
  std::string made(BytesOf(unmade), size);  // before its bytes are written over
  unmade.type = core::TypeOf<std::string>();
  unmade.kind = static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage);
  new (unmade.Value()) std::string(std::move(made));
}

}  // namespace ergon::node
