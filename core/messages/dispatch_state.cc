#include <ergon/core/messages/dispatch_state.h>

namespace ergon::core {

PushOutcome DispatchState::Push(Envelope* envelope, std::uint32_t capacity,
                                const std::atomic<std::uint32_t>& taken,
                                std::uint32_t messages) noexcept {
  // Acquire, here and when the exchange fails: a sender that is redirected reads what was prepared for that (partner:
  // TryRedirect).
  std::uint64_t word = word_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t top = word & kTopMask;
    if (top != kBusy && top < kFirstAddress) [[unlikely]] {
      if (top >= kRefusedIdle) return PushOutcome::kClosed;
      if (top != kIdle) return PushOutcome::kRedirected;
    }
    const std::uint32_t count = static_cast<std::uint32_t>(word >> kTopBits);
    // Acquire: all pushes that `taken` counts are visible then (partner: Mailbox::Pop).
    if (capacity != 0 && ((count - taken.load(std::memory_order_acquire)) & kCountMask) + messages >
                             capacity) [[unlikely]] {
      // `taken` may count pushes that `word` is too old to know, which looks like a full lane. It
      // is full if the word has not changed.
      const std::uint64_t now = word_.load(std::memory_order_acquire);
      if (now == word) return PushOutcome::kFull;
      word = now;
      continue;
    }
    envelope->next = top < kFirstAddress ? nullptr : ToEnvelope(top);
    if (word_.compare_exchange_weak(word, Pack(count + messages, ToTop(envelope)),
                                    std::memory_order_acq_rel, std::memory_order_acquire)) {
      return top == kIdle ? PushOutcome::kMustSchedule : PushOutcome::kPushed;
    }
  }
}

PushOutcome DispatchState::PushAndAccept(Envelope* envelope) noexcept {
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t top = word & kTopMask;
    if (top >= kRefusedIdle && top < kFirstAddress) return PushOutcome::kClosed;
    envelope->next = top < kFirstAddress ? nullptr : ToEnvelope(top);
    const std::uint32_t count = static_cast<std::uint32_t>(word >> kTopBits);
    if (word_.compare_exchange_weak(word, Pack(count + 1, ToTop(envelope)),
                                    std::memory_order_acq_rel, std::memory_order_relaxed)) {
      const bool was_idle = top == kIdle || top == kRedirectedIdle;
      return was_idle ? PushOutcome::kMustSchedule : PushOutcome::kPushed;
    }
  }
}

bool DispatchState::WakeIfIdle() noexcept {
  // The load is sequentially consistent: it must not be satisfied before the caller's push to the
  // express stack is visible (partner: TryIdle, which stores idle before it reads that stack).
  std::uint64_t word = word_.load(std::memory_order_seq_cst);
  for (;;) {
    const std::uint64_t top = word & kTopMask;
    if (top != kIdle && top != kRedirectedIdle && top != kRefusedIdle) return false;
    const std::uint64_t busy = top == kIdle             ? kBusy
                               : top == kRedirectedIdle ? kRedirectedBusy
                                                        : kRefusedBusy;
    if (word_.compare_exchange_weak(word, (word & ~kTopMask) | busy, std::memory_order_seq_cst)) {
      return true;
    }
  }
}

bool DispatchState::TryForget(const Envelope* marker) noexcept {
  return Replace(ToTop(marker), kBusy);
}

bool DispatchState::TryRedirect(const Envelope* marker) noexcept {
  return Replace(marker == nullptr ? kBusy : ToTop(marker), kRedirectedBusy);
}

bool DispatchState::TryRefuse(const Envelope* marker) noexcept {
  if (marker != nullptr) return Replace(ToTop(marker), kRefusedBusy);
  return Replace(kBusy, kRefusedBusy) || Replace(kRedirectedBusy, kRefusedBusy) || IsRefused();
}

void DispatchState::Accept() noexcept { (void)Replace(kRedirectedBusy, kBusy); }

Envelope* DispatchState::Close() noexcept {
  // Acquires what the last push released.
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  while (!word_.compare_exchange_weak(word, (word & ~kTopMask) | kClosed, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
  }
  const std::uint64_t top = word & kTopMask;
  return top < kFirstAddress ? nullptr : ToEnvelope(top);
}

void DispatchState::Open(bool redirected) noexcept {
  // Nobody else changes the word of a closed lane.
  const std::uint64_t word = word_.load(std::memory_order_relaxed);
  if ((word & kTopMask) != kClosed) return;
  word_.store((word & ~kTopMask) | (redirected ? kRedirectedBusy : kBusy),
              std::memory_order_release);  // partner: Push
}

}  // namespace ergon::core
