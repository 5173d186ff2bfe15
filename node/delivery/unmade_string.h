// The string of a message from another node, which is made when its receiver takes the message.
//
// Memory that one thread allocates and another one gives back passes from one processor's cache to
// the other's twice, and so do the allocator's own data: for a short string that takes longer than
// all else that is done for its message. So the bytes of the string travel in the envelope, whose
// memory is made for that (see envelope_pool.h), and the thread that will destroy the string makes
// it. The string is copied once more for that; with a long one the copy costs more than it saves.
//
// What goes into a queue of the receiver's own, or through a pool, is made by the thread of its
// sender: here that is the network's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>

namespace ergon::node {

// The value of such an envelope; the bytes of the string stand behind the value.
struct UnmadeString {
  std::uint32_t size;
};

inline constexpr std::size_t kUnmadeHeadBytes =
    core::EnvelopeBytes(sizeof(UnmadeString), alignof(UnmadeString));

// Bytes: with fewer the string needs no memory of its own, with more the pool has no envelope for it.
inline constexpr std::size_t kLeastUnmade = 16;
inline constexpr std::size_t kMostUnmade =
    core::kEnvelopeClasses * core::kEnvelopeAlignment - kUnmadeHeadBytes;

[[nodiscard]] constexpr bool MayBeUnmade(std::size_t bytes) noexcept {
  return bytes >= kLeastUnmade && bytes <= kMostUnmade;
}

// The envelope of a message of normal priority. In a mailbox it may wait as it is; whoever else gets
// it makes the string first. Throws std::bad_alloc.
[[nodiscard]] core::EnvelopePtr BeginString(std::string_view bytes);

[[nodiscard]] inline bool IsUnmadeString(const core::Envelope& envelope) noexcept {
  return envelope.kind == static_cast<std::uint8_t>(gen::EnvelopeKind::kUnmadeString);
}
// Makes the string, in the same envelope, which is a message then as any other. Without memory for it,
// at most kMostUnmade bytes, the program ends: the message is accepted already, so nobody is left to be
// told of an exception, and it would be lost without a count.
void MakeString(core::Envelope& unmade) noexcept;
inline void MakeStringIfUnmade(core::Envelope& envelope) noexcept {
  if (IsUnmadeString(envelope)) [[unlikely]]
    MakeString(envelope);
}

}  // namespace ergon::node
