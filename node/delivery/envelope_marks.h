// What kind of envelope it is, and what is marked on it on its way.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/envelope_sender.h>
#include <ergon/gen/trace.h>

namespace ergon::node {

[[nodiscard]] inline gen::EnvelopeKind KindOf(const core::Envelope& envelope) noexcept {
  return static_cast<gen::EnvelopeKind>(envelope.kind);
}
using gen::IsRequest;
// Returns whether users send such an envelope; they do not send signals and notices.
[[nodiscard]] inline bool IsMessage(const core::Envelope& envelope) noexcept {
  return gen::IsUserMessage(KindOf(envelope));
}
// Returns the name of the function that makes such a request and waits.
[[nodiscard, gnu::cold]] inline const char* FunctionThatAsks(const core::Envelope& request) {
  switch (KindOf(request)) {
    case gen::EnvelopeKind::kInspect:
      return "Inspect";
    case gen::EnvelopeKind::kSuspend:
      return "Suspend";
    case gen::EnvelopeKind::kResume:
      return "Resume";
    default:
      return "Call";
  }
}
// Returns whether it is a notice of an end, or of something else that is monitored.
[[nodiscard]] inline bool IsNotice(const core::Envelope& envelope) noexcept {
  return KindOf(envelope) == gen::EnvelopeKind::kExit ||
         KindOf(envelope) == gen::EnvelopeKind::kDown;
}
// Returns whether it is a message of a periodic send.
[[nodiscard]] inline bool IsTick(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagStamped) != 0;
}
// Returns whether `deadline` of the envelope has no other meaning than that of Delivery::NoteSent.
[[nodiscard]] inline bool HasRoomForTime(const core::Envelope& envelope) noexcept {
  const gen::EnvelopeKind kind = KindOf(envelope);
  const bool is_value = kind == gen::EnvelopeKind::kMessage || kind == gen::EnvelopeKind::kEvent;
  return is_value && !IsTick(envelope) && !gen::IsTraced(envelope);
}
// Returns whether it is a message of the Main lane that is neither a tick nor traced. The four bytes that say so stand
// in a row and are compared together, because every message is asked.
[[nodiscard]] inline bool IsQuietInMain(const core::Envelope& envelope) noexcept {
  using core::Envelope;
  constexpr std::size_t kBegin = offsetof(Envelope, kind);
  static_assert(offsetof(Envelope, lane) == kBegin + 1 && offsetof(Envelope, flags) == kBegin + 3);
  static_assert(static_cast<int>(gen::EnvelopeKind::kMessage) == 0 &&
                static_cast<int>(core::Lane::kMain) == 0);
  using Bytes = std::array<std::uint8_t, 4>;
  constexpr auto kLookedAt = std::bit_cast<std::uint32_t>(
      Bytes{0xff, 0xff, 0, Envelope::kFlagStamped | Envelope::kFlagTraced});
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, reinterpret_cast<const std::byte*>(&envelope) + kBegin, sizeof(bytes));
  return (bytes & kLookedAt) == 0;
}
[[nodiscard]] inline bool IsExpressMessage(const core::Envelope& envelope) noexcept {
  return envelope.lane != core::Lane::kMain && IsMessage(envelope);
}
// Returns whether its sender must learn whether it arrives, whatever the mailbox's policy.
[[nodiscard]] inline bool IsImportant(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagImportant) != 0;
}
// Returns whether it came through a pool.
[[nodiscard]] inline bool IsRouted(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagRouted) != 0;
}
// Returns whether, besides, the worker may drop another message to make room for it.
[[nodiscard]] inline bool MakesRoom(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagMakeRoom) != 0;
}

inline void UnmarkRouted(core::Envelope& envelope) noexcept {
  envelope.flags &= static_cast<std::uint8_t>(
      ~(core::Envelope::kFlagRouted | core::Envelope::kFlagMakeRoom | core::Envelope::kFlagCopy));
  if (!IsRequest(envelope)) envelope.ref = 0;
}
// Marks a message with the id of the pool that it comes through, so that it can go back there. Requests have no room
// for the id. The right to make room that one pool has given does not hold at the next pool.
inline void MarkRouted(core::Envelope& envelope, std::uint64_t pool) noexcept {
  UnmarkRouted(envelope);
  envelope.flags |= core::Envelope::kFlagRouted;
  if (!IsRequest(envelope)) envelope.ref = pool;
}

}  // namespace ergon::node
