// Whether a process is idle, scheduled or closed, and the arrival stack of its Main lane, in one
// word.
//
// The word is [ count of pushes : 22 bits | address of the newest envelope / 64 : 42 bits ].
// Addresses below 448 are states instead:
//
//   idle       nobody has the right to run the process; the pusher that replaces this state gets it
//              and must schedule the process
//   busy       scheduled or running, nothing on the stack
//   redirected (idle or busy) a pool: its Main lane takes nothing, senders go to its workers
//   refused    (idle or busy) the process is about to end: what it has taken is handled, senders find the lane closed
//   closed     the process has ended: nothing is accepted any more
//
//         Push (first)              turn: TryIdle
//   idle ------------> busy/stack -----------------> idle
//     ^                     |  Close
//     | Open                v
//   closed <-------------- closed
//
// Putting the idle state into the stack's head makes a send one atomic read-modify-write, and the
// push itself tells whether the process has to be scheduled: there is no window between "the queue
// is empty" and "I am idle" for a message to fall into. What arrives outside of this stack (the
// express stack, see mailbox.h) closes that window by `WakeIfIdle`.
//
// Memory orders: a push releases the envelope's content to the consumer's acquire load of the word.
// TryIdle, TryIdleSince and WakeIfIdle are sequentially consistent, because they form Dekker's pattern with the
// express stack: one side stores "idle" and then looks at the express stack, the other side pushes
// to the express stack and then looks at "idle".
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/messages/envelope.h>

namespace ergon::core {

enum class PushOutcome : std::uint8_t {
  kPushed,        // another thread runs or will run the process
  kMustSchedule,  // the caller has to schedule the process
  kFull,          // nothing was taken: the bound is reached
  kRedirected,    // nothing was taken: send to a worker instead
  kClosed,        // nothing was taken: the process has ended, or is about to
  kUntried,       // nothing was taken, and that says nothing about the process: Push tells
};

class DispatchState {
 public:
  static constexpr int kCountBits = 22;
  static constexpr std::uint32_t kCountMask = (1u << kCountBits) - 1;

  // Pushes onto the Main stack. `capacity` 0: unbounded. Otherwise the push is refused if more than `capacity`
  // envelopes would have been pushed and not yet taken; `taken` counts the taken ones. The envelope counts as
  // `messages`. May be called from any thread.
  [[nodiscard]] PushOutcome Push(Envelope* envelope, std::uint32_t capacity,
                                 const std::atomic<std::uint32_t>& taken,
                                 std::uint32_t messages = 1) noexcept;
  // Makes one attempt of Push, short enough to be a part of its caller. Returns kUntried if that was not enough.
  [[nodiscard]] PushOutcome TryPush(Envelope* envelope, std::uint32_t capacity,
                                    const std::atomic<std::uint32_t>& taken) noexcept {
    std::uint64_t word = word_.load(std::memory_order_acquire);  // as in Push
    const std::uint64_t top = word & kTopMask;
    Envelope* next = ToEnvelope(top);
    if (top < kFirstAddress) [[unlikely]] {
      if (top > kIdle) return top < kRefusedIdle ? PushOutcome::kRedirected : PushOutcome::kUntried;
      next = nullptr;
    }
    if (capacity != 0) {
      // Relaxed, as for the word: a thread that finds too many taken or too few looks again in Push.
      const std::uint32_t waiting =
          static_cast<std::uint32_t>(word >> kTopBits) - taken.load(std::memory_order_relaxed);
      if ((waiting & kCountMask) >= capacity) [[unlikely]]
        return PushOutcome::kUntried;
    }
    envelope->next = next;
    // Orders as in Push. One more in the count, whose carry is lost, and the new top for the old one.
    if (!word_.compare_exchange_weak(word, word + (kOnePush + ToTop(envelope) - top),
                                     std::memory_order_acq_rel, std::memory_order_relaxed))
        [[unlikely]] {
      return PushOutcome::kUntried;
    }
    return top == kIdle ? PushOutcome::kMustSchedule : PushOutcome::kPushed;
  }

  // Pushes without a bound. A redirected lane takes the envelope, too, and is no longer redirected: this is for a pool
  // whose workers are all gone. May be called from any thread.
  [[nodiscard]] PushOutcome PushAndAccept(Envelope* envelope) noexcept;

  // To be called after a push to the express stack. Returns true if the process was idle: the caller has to schedule
  // it. May be called from any thread. Partners: TryIdle and TryIdleSince.
  [[nodiscard]] bool WakeIfIdle() noexcept;

  // -- the rest belongs to the one that has the right to run the process --

  // Returns the newest envelope, or null. Acquire; partner: Push.
  [[nodiscard]] Envelope* Top() const noexcept {
    const std::uint64_t top = word_.load(std::memory_order_acquire) & kTopMask;
    return top < kFirstAddress ? nullptr : ToEnvelope(top);
  }

  // Becomes idle if nothing is above `marker` (the newest envelope taken so far, or null).
  // Afterwards the caller must look at the express stack (partner: WakeIfIdle).
  [[nodiscard]] bool TryIdle(const Envelope* marker) noexcept {
    if (marker != nullptr) [[likely]]
      return Replace(ToTop(marker), kIdle);
    return Replace(kBusy, kIdle) || Replace(kRedirectedBusy, kRedirectedIdle) ||
           Replace(kRefusedBusy, kRefusedIdle);
  }

  // Returns whether `newest`, an envelope that was taken, is the newest one still; `count` is for TryIdleSince.
  [[nodiscard]] bool IsTop(const Envelope* newest, std::uint64_t& count) const noexcept {
    count = word_.load(std::memory_order_acquire) ^ ToTop(newest);  // as Top
    return (count & kTopMask) == 0;
  }
  // Does what TryIdle does, when IsTop has returned true. Afterwards the caller must look at the express stack, too.
  [[nodiscard]] bool TryIdleSince(const Envelope* newest, std::uint64_t count) noexcept {
    std::uint64_t word = count | ToTop(newest);
    return word_.compare_exchange_strong(word, count | kIdle, std::memory_order_seq_cst,
                                         std::memory_order_relaxed);
  }

  // Forgets `marker` while staying busy, if nothing is above it: it can then leave the mailbox.
  [[nodiscard]] bool TryForget(const Envelope* marker) noexcept;

  // Redirects the lane if nothing is above `marker`; the state stays busy.
  [[nodiscard]] bool TryRedirect(const Envelope* marker) noexcept;
  // Ends the redirection; the state stays busy.
  void Accept() noexcept;
  // Refuses all from now on, until Close, if nothing is above `marker`; the state stays busy.
  [[nodiscard]] bool TryRefuse(const Envelope* marker) noexcept;

  // Closes and returns the newest envelope, or null.
  [[nodiscard]] Envelope* Close() noexcept;
  // Moves from closed to busy, for a new process in the slot. If `redirected`, the lane is redirected from the start.
  void Open(bool redirected = false) noexcept;

  // Returns how many pushes there were, modulo 2^22. May be called from any thread.
  [[nodiscard]] std::uint32_t CountApprox() const noexcept {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed) >> kTopBits);
  }
  // Returns the number of the next push, modulo 2^22 and with bit 31 set; 0 if the lane is redirected. One look at the
  // word, which the next push needs anyway. May be called from any thread.
  [[nodiscard]] std::uint32_t NextNumber() const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    const std::uint64_t top = word & kTopMask;
    if (top == kRedirectedIdle || top == kRedirectedBusy) return 0;
    return ((static_cast<std::uint32_t>(word >> kTopBits) + 1) & kCountMask) | kIsNumber;
  }
  // Returns whether no thread has the right to run the process, and no thread has to schedule it. Any thread.
  [[nodiscard]] bool IsIdle() const noexcept {
    const std::uint64_t top = word_.load(std::memory_order_relaxed) & kTopMask;
    return top == kIdle || top == kRedirectedIdle || top == kRefusedIdle;
  }
  [[nodiscard]] bool IsClosed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kTopMask) == kClosed;
  }
  [[nodiscard]] bool IsRedirected() const noexcept {
    const std::uint64_t top = word_.load(std::memory_order_relaxed) & kTopMask;
    return top == kRedirectedIdle || top == kRedirectedBusy;
  }
  [[nodiscard]] bool IsRefused() const noexcept {
    const std::uint64_t top = word_.load(std::memory_order_relaxed) & kTopMask;
    return top == kRefusedIdle || top == kRefusedBusy;
  }

 private:
  friend struct MailboxLayout;

  static constexpr int kTopBits = 64 - kCountBits;
  static constexpr std::uint32_t kIsNumber = std::uint32_t{1} << 31;
  static constexpr std::uint64_t kTopMask = (std::uint64_t{1} << kTopBits) - 1;
  static constexpr std::uint64_t kOnePush = std::uint64_t{1} << kTopBits;
  static constexpr std::uint64_t kBusy = 0;
  static constexpr std::uint64_t kIdle = 1;
  // From kRefusedIdle on, senders find the lane closed.
  static constexpr std::uint64_t kRedirectedIdle = 2;
  static constexpr std::uint64_t kRedirectedBusy = 3;
  static constexpr std::uint64_t kRefusedIdle = 4;
  static constexpr std::uint64_t kRefusedBusy = 5;
  static constexpr std::uint64_t kClosed = 6;
  static constexpr std::uint64_t kFirstAddress = 7;

  static std::uint64_t ToTop(const Envelope* envelope) noexcept {
    return reinterpret_cast<std::uintptr_t>(envelope) / kEnvelopeAlignment;
  }
  static Envelope* ToEnvelope(std::uint64_t top) noexcept {
    return reinterpret_cast<Envelope*>(static_cast<std::uintptr_t>(top * kEnvelopeAlignment));
  }
  static std::uint64_t Pack(std::uint32_t count, std::uint64_t top) noexcept {
    return (static_cast<std::uint64_t>(count & kCountMask) << kTopBits) | top;
  }
  // Replaces `from` by `to`, keeping the count. Returns false if the top is something else.
  bool Replace(std::uint64_t from, std::uint64_t to) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    std::uint64_t count;  // the word without its top, if that is `from`
    do {
      count = word ^ from;
      if ((count & kTopMask) != 0) return false;
    } while (!word_.compare_exchange_weak(word, count | to, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
    return true;
  }

  std::atomic<std::uint64_t> word_{kClosed};
};

}  // namespace ergon::core
