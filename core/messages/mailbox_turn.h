// What each turn of a process does with its mailbox, inlined into that turn: this saves calls in a turn of one message.
#pragma once

#include <cassert>

#include <ergon/core/messages/mailbox.h>

namespace ergon::core {

[[gnu::always_inline]] inline Envelope* Mailbox::Pop(bool with_main) noexcept {
  if (MayHaveExpress()) [[unlikely]] {
    if (Envelope* const envelope = PopExpress()) return envelope;
  }
  if (!with_main) [[unlikely]]
    return nullptr;
  if (main_.empty()) {
    Envelope* const top = state_.Top();
    if (top == marker_) return nullptr;
    if (top->next != marker_) return PopArrived();
    SetMarker(top);  // what has arrived alone needs no turning round
    CountTaken();
    return top;
  }
  if (is_draining_) [[unlikely]]
    return PopArrived();
  CountTaken();
  return main_.PopFront();
}

template <class Visit>
void Mailbox::VisitUrgent(bool only_new, Visit&& visit) {
  const bool all = !only_new || has_unvisited_ || urgent_.empty();
  const Envelope* const last = urgent_.tail;
  if (HasExpress()) CollectExpress();
  for (const Envelope* envelope = all ? urgent_.head : last->next; envelope != nullptr;
       envelope = envelope->next) {
    visit(*envelope);
  }
  has_unvisited_ = false;
}

[[gnu::always_inline]] inline bool Mailbox::IsLast(const Envelope* envelope,
                                                   std::uint64_t& count) const noexcept {
  return envelope == marker_ && !IsAnySet(main_.head, urgent_.head, system_.head) &&
         state_.IsTop(envelope, count);
}

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
  const bool is_idle = StaysIdle(with_main);
  if (released) FreeEnvelope(marker, marker->size_class);
  return is_idle;
}

[[gnu::always_inline]] inline bool Mailbox::StaysIdle(bool with_main) noexcept {
  // Partners: PushExpress, SetQueued. Another thread may run the process from here on, unless this one succeeds in
  // taking the state back.
  const auto more = reinterpret_cast<std::uintptr_t>(express_.load(std::memory_order_seq_cst)) |
                    (with_main ? queued_.load(std::memory_order_seq_cst) : 0);
  return more == 0 || !state_.WakeIfIdle();
}

[[gnu::always_inline]] inline bool Mailbox::ReleaseAndTryIdle(Envelope* envelope,
                                                              std::uint64_t count) noexcept {
  marker_ = nullptr;  // before the state is idle, as in TryIdleOnceEmpty
  if (!state_.TryIdleSince(envelope, count)) [[unlikely]] {
    marker_ = envelope;
    marker_released_ = true;
    return false;
  }
  const bool is_idle = StaysIdle(true);
  FreeEnvelope(envelope, envelope->size_class);
  return is_idle;
}

[[gnu::always_inline]] inline bool Mailbox::TryIdleAfterPop() noexcept {
  assert(urgent_.empty() && system_.empty() && main_.empty());
  return TryIdleOnceEmpty(true);
}

}  // namespace ergon::core
