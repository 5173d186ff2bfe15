// What a process that waits for one answer (Call, Sleep) is waiting for, in one word.
//
// The word is 0 (waits for nothing), [ begun : 1 bit | id : 61 bits | running or parked : 2 bits ]
// while it waits, or the outcome: the response's address, or one of the constants expired (with
// or without the bit "begun") and interrupted.
//
//   Begin             TryPark                  Complete / Expire: outcome + the right to run
//  0 -----> running(id) -----> parked(id) ------------------------------------> outcome
//               |  ^               |
//               |  +---------------+ Unpark: by a signal that may end it; gives the right to run
//               +---> outcome (Complete, Expire, Interrupt; nobody has to be scheduled)
//
// The process that answers sets "begun" before it begins (NoteBegun). The bit and the time-out are in one word: if a
// wait has expired without the bit, no process will begin with its request any more.
//
// Exactly one of the possible ends (response, time-out, interruption) wins the compare-exchange. So a late or second
// response is recognised and refused, and never disturbs the next wait, whose id differs. The thread that moves the
// word out of `parked` gets the right to run the process and must schedule it.
//
// Memory orders: Complete releases the response to TakeOutcome's acquire. TryPark and Unpark are
// sequentially consistent: Dekker's pattern with the express stack, as in dispatch_state.h, and with
// the timer of the wait, in time/wait_timer.h.
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/messages/envelope.h>

namespace ergon::core {

enum class AwaitOutcome : std::uint8_t {
  kNone,
  kResponse,
  kExpired,       // no process had begun, and none will begin
  kExpiredBegun,  // a process had begun
  kInterrupted,
};

enum class CompleteOutcome : std::uint8_t {
  kIgnored,       // no wait with that id (any more)
  kStored,        // taken; the process runs and will see it
  kMustSchedule,  // taken; the caller has to schedule the process
};

class AwaitState {
 public:
  // The largest id; the smallest is 1. The top bit and the two lowest bits of the word stay free.
  static constexpr std::uint64_t kMaxId = (std::uint64_t{1} << 61) - 1;

  // -- the process itself --
  void Begin(std::uint64_t id) noexcept {
    // Relaxed: the id reaches others through the request, whose push releases it.
    word_.store((id << 2) | kRunning, std::memory_order_relaxed);
  }
  // Moves from running to parked. Returns false if the outcome is already there.
  [[nodiscard]] bool TryPark() noexcept { return Move(kRunning, kParked); }
  // Moves from running to interrupted. Returns false if there is another outcome already.
  bool Interrupt() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & kTagMask) == kRunning) {  // again when NoteBegun has come between
      if (word_.compare_exchange_weak(word, kInterruptedWord, std::memory_order_acquire))
        return true;
    }
    return false;
  }
  [[nodiscard]] bool HasOutcome() const noexcept {  // also any thread; acquire, partner: Finish
    return IsOutcome(word_.load(std::memory_order_acquire));
  }
  // Returns the outcome and forgets it: the word is 0 afterwards. `response` is set for kResponse.
  [[nodiscard]] AwaitOutcome TakeOutcome(Envelope*& response) noexcept {
    // Acquire: the response's content; partner: Finish. An outcome is changed by nobody else.
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    if (word == 0 || (word & kTagMask) != 0) [[unlikely]]
      return TakeOther(response);
    word_.store(0, std::memory_order_relaxed);
    response = reinterpret_cast<Envelope*>(static_cast<std::uintptr_t>(word));
    return AwaitOutcome::kResponse;
  }

  // -- any thread --
  // Returns the id of a wait that may be going on, or 0. Sequentially consistent, as TryPark; partner: WaitTimer.
  [[nodiscard]] std::uint64_t WaitingFor() const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_seq_cst);
    const std::uint64_t tag = word & kTagMask;
    return tag == kRunning || tag == kParked ? IdOf(word) : 0;
  }
  // Notes that a process begins with the request; to be called before it begins. Calling it more than once does no
  // harm. Returns false if there is no wait with that id (any more).
  [[nodiscard]] bool NoteBegun(std::uint64_t id) noexcept {
    // Acquire: a thread that finds the wait expired reads the clock later than the thread that ended it; partner:
    // Finish. The bit says nothing about other data.
    std::uint64_t word = word_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint64_t tag = word & kTagMask;
      if ((tag != kRunning && tag != kParked) || IdOf(word) != id) return false;
      if ((word & kBegunBit) != 0) return true;
      if (word_.compare_exchange_weak(word, word | kBegunBit, std::memory_order_acquire)) {
        return true;
      }
    }
  }
  // Delivers the response, and passes its ownership unless the result is kIgnored.
  [[nodiscard]] CompleteOutcome Complete(std::uint64_t id, Envelope* response) noexcept {
    const auto outcome = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(response));
    // One round of Finish, for nearly all of them.
    std::uint64_t word = word_.load(std::memory_order_acquire);
    if ((word & kTagMask) == kParked && IdOf(word) == id &&
        word_.compare_exchange_strong(word, outcome, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) [[likely]]
      return CompleteOutcome::kMustSchedule;
    return Finish(id, outcome, outcome);
  }
  // Ends the wait with that id as expired.
  [[nodiscard]] CompleteOutcome Expire(std::uint64_t id) noexcept {
    return Finish(id, kExpiredWord, kExpiredBegunWord);
  }
  // Moves from parked to running. Returns true if the caller has to schedule the process.
  [[nodiscard]] bool Unpark() noexcept { return Move(kParked, kRunning); }

 private:
  friend struct AwaitLayout;
  static constexpr std::uint64_t kTagMask = 3;
  static constexpr std::uint64_t kRunning = 1;
  static constexpr std::uint64_t kParked = 2;
  static constexpr std::uint64_t kConstant = 3;
  static constexpr std::uint64_t kExpiredWord = (1 << 2) | kConstant;
  static constexpr std::uint64_t kInterruptedWord = (2 << 2) | kConstant;
  static constexpr std::uint64_t kExpiredBegunWord = (3 << 2) | kConstant;
  static constexpr std::uint64_t kBegunBit = std::uint64_t{1} << 63;

  static bool IsOutcome(std::uint64_t word) noexcept {
    return word != 0 && ((word & kTagMask) == 0 || (word & kTagMask) == kConstant);
  }
  static std::uint64_t IdOf(std::uint64_t word) noexcept { return (word & ~kBegunBit) >> 2; }
  bool Move(std::uint64_t from, std::uint64_t to) noexcept {
    std::uint64_t word = word_.load(std::memory_order_seq_cst);
    while (word != 0 && (word & kTagMask) == from) {  // again when NoteBegun has come between
      if (word_.compare_exchange_weak(word, (word & ~kTagMask) | to, std::memory_order_seq_cst)) {
        return true;
      }
    }
    return false;
  }
  // TakeOutcome, unless there is a response.
  AwaitOutcome TakeOther(Envelope*& response) noexcept;
  CompleteOutcome Finish(std::uint64_t id, std::uint64_t outcome, std::uint64_t if_begun) noexcept;

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace ergon::core
