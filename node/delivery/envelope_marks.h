// What an envelope is, and what is marked on it on its way.
#pragma once

#include <cstdint>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/envelope_sender.h>

namespace ergon::node {

[[nodiscard]] inline gen::EnvelopeKind KindOf(const core::Envelope& envelope) noexcept {
  return static_cast<gen::EnvelopeKind>(envelope.kind);
}
using gen::IsRequest;
// What users send; signals and notices are none.
[[nodiscard]] inline bool IsMessage(const core::Envelope& envelope) noexcept {
  return gen::IsUserMessage(KindOf(envelope));
}
// Of the end of somebody, or of what is monitored otherwise.
[[nodiscard]] inline bool IsNotice(const core::Envelope& envelope) noexcept {
  return KindOf(envelope) == gen::EnvelopeKind::kExit ||
         KindOf(envelope) == gen::EnvelopeKind::kDown;
}
// Of a periodic send.
[[nodiscard]] inline bool IsTick(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagStamped) != 0;
}
[[nodiscard]] inline bool IsTickOrTraced(const core::Envelope& envelope) noexcept {
  return (envelope.flags & (core::Envelope::kFlagStamped | core::Envelope::kFlagTraced)) != 0;
}
[[nodiscard]] inline bool IsExpressMessage(const core::Envelope& envelope) noexcept {
  return envelope.lane != core::Lane::kMain && IsMessage(envelope);
}
// For its sender's ears, whatever the mailbox's policy.
[[nodiscard]] inline bool IsImportant(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagImportant) != 0;
}
// It came through a pool.
[[nodiscard]] inline bool IsRouted(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagRouted) != 0;
}
// And the worker may drop a message for it.
[[nodiscard]] inline bool MakesRoom(const core::Envelope& envelope) noexcept {
  return (envelope.flags & core::Envelope::kFlagMakeRoom) != 0;
}

inline void UnmarkRouted(core::Envelope& envelope) noexcept {
  envelope.flags &=
      static_cast<std::uint8_t>(~(core::Envelope::kFlagRouted | core::Envelope::kFlagMakeRoom));
  if (!IsRequest(envelope)) envelope.ref = 0;
}
// A message that comes through a pool carries the pool's id, so that it can go back there.
// Requests have no room for it. That one pool had to make room for it does not bind the next one.
inline void MarkRouted(core::Envelope& envelope, std::uint64_t pool) noexcept {
  UnmarkRouted(envelope);
  envelope.flags |= core::Envelope::kFlagRouted;
  if (!IsRequest(envelope)) envelope.ref = pool;
}

}  // namespace ergon::node
