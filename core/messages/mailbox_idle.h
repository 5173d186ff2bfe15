// How a process gives up the right to run, inlined into its turn: this saves a call in each turn of one message.
#pragma once

#include <cassert>

#include <ergon/core/messages/mailbox.h>

namespace ergon::core {

[[gnu::always_inline]] inline bool Mailbox::TryIdleOnceEmpty(bool with_main) noexcept {
  // Nothing of the consumer's may be touched after the state is idle, so the marker is given up before. A marker that
  // still waits in main_ (with_main false) merely stops being the marker; a released one is freed.
  Envelope* const marker = marker_;
  const bool released = marker_released_;
  marker_ = nullptr;
  marker_released_ = false;
  if (!state_.TryIdle(marker)) [[unlikely]] {
    marker_ = marker;
    marker_released_ = released;
    return false;
  }
  // Partners: PushExpress, SetQueued. Another thread may run the process from here on, unless this one succeeds in
  // taking the state back.
  const auto more = reinterpret_cast<std::uintptr_t>(express_.load(std::memory_order_seq_cst)) |
                    (with_main ? queued_.load(std::memory_order_seq_cst) : 0);
  const bool is_idle = more == 0 || !state_.WakeIfIdle();
  if (released) FreeEnvelope(marker, marker->size_class);
  return is_idle;
}

[[gnu::always_inline]] inline bool Mailbox::TryIdleAfterPop() noexcept {
  assert(urgent_.empty() && system_.empty() && main_.empty());
  return TryIdleOnceEmpty(true);
}

}  // namespace ergon::core
