#include <ergon/core/messages/await_state.h>

namespace ergon::core {

AwaitOutcome AwaitState::TakeOther(Envelope*& response) noexcept {
  // Acquire, in both: the content of a response that has come since; partner: Finish.
  std::uint64_t word = word_.load(std::memory_order_acquire);
  if (IsOutcome(word)) [[likely]] {
    word_.store(0, std::memory_order_relaxed);
  } else {
    word = word_.exchange(0, std::memory_order_acquire);
  }
  response = nullptr;
  if (word == kExpiredWord) return AwaitOutcome::kExpired;
  if (word == kExpiredBegunWord) return AwaitOutcome::kExpiredBegun;
  if (word == kInterruptedWord) return AwaitOutcome::kInterrupted;
  if (word == 0 || (word & kTagMask) != 0) return AwaitOutcome::kNone;
  response = reinterpret_cast<Envelope*>(static_cast<std::uintptr_t>(word));
  return AwaitOutcome::kResponse;
}

CompleteOutcome AwaitState::Finish(std::uint64_t id, std::uint64_t outcome,
                                   std::uint64_t if_begun) noexcept {
  std::uint64_t word = word_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t tag = word & kTagMask;
    if ((tag != kRunning && tag != kParked) || IdOf(word) != id) return CompleteOutcome::kIgnored;
    // Releases the response; partner: TakeOutcome. Acquires the parked fiber; partner: TryPark.
    const bool begun = (word & kBegunBit) != 0;
    if (word_.compare_exchange_weak(word, begun ? if_begun : outcome, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      return tag == kParked ? CompleteOutcome::kMustSchedule : CompleteOutcome::kStored;
    }
  }
}

}  // namespace ergon::core
