// A process's mailbox: three lanes, many senders, one consumer.
//
// Main arrives on the stack of DispatchState, Urgent and System on a small "express" stack of their own, so that a
// million untaken Main messages do not delay them. The consumer takes the whole of a stack at once, turns it round and
// serves Urgent, then System, then Main; the express stack is looked at again before any message that is not Urgent,
// and between the steps of turning a million messages round, which takes milliseconds.
//
// Main may also be kept elsewhere, in a queue of the owner's (OpenQueued): then it is redirected, and the mailbox only
// knows how many messages wait there.
//
// "Sender" functions may be called from any thread. "Consumer" functions belong to the thread that has the right to run
// the process (dispatch_state.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ergon/core/messages/dispatch_state.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/core/messages/envelope_list.h>
#include <ergon/core/messages/mailbox_bound.h>

namespace ergon::core {

class Mailbox {
 public:
  // The largest bound a mailbox can have, in messages.
  static constexpr std::uint32_t kMaxCapacity = kMaxMailboxBound;
  static_assert(kMaxCapacity < DispatchState::kCountMask);
  // How many envelopes are turned round between two looks at the express stack: a few microseconds.
#ifdef ERGON_MAILBOX_STEPS
  static constexpr int kStepsAtOnce = ERGON_MAILBOX_STEPS;  // for tests
#else
  static constexpr int kStepsAtOnce = 1024;
#endif

  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // -- sender --

  // Puts an envelope into its lane. Main is bounded, System and Urgent never are. Unless the outcome is kPushed or
  // kMustSchedule, the caller still owns the envelope.
  [[nodiscard]] PushOutcome Push(Envelope* envelope) noexcept {
    if (envelope->lane == Lane::kMain) [[likely]] {
      return state_.Push(envelope, capacity_.load(std::memory_order_relaxed), taken_);
    }
    return PushExpress(envelope);
  }
  // Makes one attempt to push a Main-lane envelope; see DispatchState::TryPush.
  [[nodiscard]] PushOutcome TryPushMain(Envelope* envelope) noexcept {
    return state_.TryPush(envelope, capacity_.load(std::memory_order_relaxed), taken_);
  }
  // Does what Push does, for a Main-lane envelope.
  [[nodiscard]] PushOutcome PushMain(Envelope* envelope) noexcept {
    return state_.Push(envelope, capacity_.load(std::memory_order_relaxed), taken_);
  }
  // Pushes an envelope that stands for `messages` messages. Main takes all of them or none; see Unfold.
  [[nodiscard]] PushOutcome PushTogether(Envelope* envelope, std::uint32_t messages) noexcept;
  // Pushes to the Main lane without the bound: for an envelope that must keep its place behind the messages before it.
  [[nodiscard]] PushOutcome PushBeyondBound(Envelope* envelope) noexcept;
  // Pushes to the Main lane of a pool without workers, and ends the redirection; see DispatchState::PushAndAccept.
  [[nodiscard]] PushOutcome PushAndAccept(Envelope* envelope) noexcept;
  // Returns how many Main messages wait: exact when nobody sends; modulo 2^22.
  [[nodiscard]] std::uint32_t MainDepthApprox() const noexcept {
    // In this order: the acquire makes all pushes visible that `taken` counts (partner: Pop), so it is never negative.
    const std::uint32_t taken = taken_.load(std::memory_order_acquire);
    return ((state_.CountApprox() - taken) & DispatchState::kCountMask) +
           queued_.load(std::memory_order_relaxed);
  }
  // Returns the number of the next message that is pushed to Main; 0: none, it is redirected. See DispatchState.
  [[nodiscard]] std::uint32_t NextNumber() const noexcept { return state_.NextNumber(); }
  // Returns how many Main messages were popped so far, modulo 2^32.
  [[nodiscard]] std::uint32_t TakenApprox() const noexcept {
    return taken_.load(std::memory_order_acquire);  // partner: Pop
  }
  [[nodiscard]] std::uint32_t capacity() const noexcept {
    return capacity_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool IsClosed() const noexcept { return state_.IsClosed(); }
  [[nodiscard]] bool IsIdle() const noexcept { return state_.IsIdle(); }
  // Notes how many messages wait in the owner's queue. One caller at a time, under the owner's lock. Sequentially
  // consistent: Dekker's pattern with TryIdle, as for the express stack.
  void SetQueued(std::uint32_t messages) noexcept;
  // Must be called after SetQueued by a sender. Returns true if the process was idle: the caller has to schedule it.
  [[nodiscard]] bool WakeIfIdle() noexcept { return state_.WakeIfIdle(); }

  // -- consumer --

  // Opens a closed mailbox with a bound for Main in messages (0: none). It is busy: the caller has the right to run.
  void Open(std::uint32_t capacity) noexcept;
  // Opens a closed mailbox whose Main messages wait in a queue of the owner's.
  void OpenQueued() noexcept;
  void SetCapacity(std::uint32_t capacity) noexcept {
    capacity_.store(capacity, std::memory_order_relaxed);
  }

  // Returns the next envelope in the order of the lanes, or null; with `with_main` false only from Urgent and System.
  // It must be given back with Release or taken out with Detach, one at a time, except those of PopExpressOf.
  // Defined, with what else ends a turn, in mailbox_turn.h.
  [[nodiscard]] Envelope* Pop(bool with_main = true) noexcept;
  // Returns the first envelope of that kind in Urgent and System, or null.
  [[nodiscard]] Envelope* PopExpressOf(std::uint8_t kind) noexcept;
  // Ends the handling of an envelope that Pop returned: destroys the value, frees the memory.
  void Release(Envelope* envelope) noexcept {
    ReleaseValue(envelope);
    ReleaseMemory(envelope);
  }
  // The two steps of Release.
  void ReleaseValue(Envelope* envelope) noexcept {
    if (HasValueToDestroy(*envelope)) ConsumeValue(*envelope);
  }
  void ReleaseMemory(Envelope* envelope) noexcept {
    if (envelope != marker_) [[likely]] {
      FreeEnvelope(envelope, envelope->size_class);
    } else {
      marker_released_ = true;
    }
  }
  // Makes an envelope that Pop returned independent of the mailbox, so that it can go elsewhere.
  void Detach(Envelope* envelope) noexcept;

  // Puts envelopes in front of all that wait in Main: a list, linked by `next`, oldest first. Popped ones are detached,
  // unless they only go through this mailbox again. `count` more messages wait then (modulo 2^32, so it may be fewer).
  void ReturnToMain(Envelope* first, Envelope* last, std::uint32_t count) noexcept;
  // Replaces an envelope of PushTogether, after Pop and NoteWaiting, by its messages: `missing` fewer than announced.
  void Unfold(Envelope* envelope, EnvelopeList messages, std::uint32_t missing) noexcept;

  // Notes that a message that was popped and detached waits with its owner: it counts in the bound until it is taken.
  void NoteWaiting() noexcept {
    taken_.store(taken_.load(std::memory_order_relaxed) - 1, std::memory_order_release);  // as Pop
  }
  void NoteTaken() noexcept { CountTaken(); }

  // Gives up the right to run if there is nothing to do; without `with_main`, Main messages do not count. After true
  // the caller must not touch the mailbox. Between giving up and taking back, others may have run the process, closed
  // the mailbox and opened it again: after false the caller must not rely on anything it knew about the process.
  [[nodiscard]] bool TryIdle(bool with_main = true) noexcept;
  // Does what TryIdle does, when Pop has just returned null.
  [[nodiscard]] bool TryIdleAfterPop() noexcept;
  // Returns whether nothing else waits in the lists and in Main. The express stack is not looked at: ReleaseAndTryIdle
  // does that. `envelope` is what Pop has returned last, and is not released; `count` is for ReleaseAndTryIdle.
  [[nodiscard]] bool IsLast(const Envelope* envelope, std::uint64_t& count) const noexcept;
  // Does what ReleaseMemory and TryIdle do, when IsLast has returned true.
  [[nodiscard]] bool ReleaseAndTryIdle(Envelope* envelope, std::uint64_t count) noexcept;
  // Returns whether a message waits in the owner's queue.
  [[nodiscard]] bool HasQueued() const noexcept {
    return queued_.load(std::memory_order_seq_cst) != 0;
  }
  // Returns whether something arrived on the express stack since the last look. Sequentially consistent; partner:
  // PushExpress.
  [[nodiscard]] bool HasExpress() const noexcept {
    return express_.load(std::memory_order_seq_cst) != nullptr;
  }
  // Returns false if VisitUrgent would find nothing.
  [[nodiscard]] bool MayHaveUrgent() const noexcept { return HasExpress() || !urgent_.empty(); }
  // Moves the express stack into the lanes, then calls visit(const Envelope&) for the Urgent ones. With `only_new` not
  // for those that the last call has visited, unless Pop has brought others behind them since.
  template <class Visit>
  void VisitUrgent(bool only_new, Visit&& visit);

  // These are for pools; see DispatchState. TryRedirect returns false while Main messages wait.
  [[nodiscard]] bool TryRedirect() noexcept;
  void AcceptMain() noexcept { state_.Accept(); }
  [[nodiscard]] bool IsRedirected() const noexcept { return state_.IsRedirected(); }

  // For a process that is about to end: closes Main to senders for good. What has arrived waits as before.
  void RefuseMain() noexcept;
  [[nodiscard]] bool IsMainRefused() const noexcept { return state_.IsRefused(); }
  // Puts an envelope behind all that wait in Main, beyond the bound, and also if Main is refused.
  void PutLast(Envelope* envelope) noexcept;

  // Closes the mailbox until Open, and returns the envelopes that will not be handled: lists linked by `next`, in the
  // order of arrival. An envelope that is being handled is not among them; it is released as always.
  struct Rest {
    Envelope* main = nullptr;
    Envelope* express = nullptr;      // Urgent, then System
    std::uint32_t main_messages = 0;  // for which those in `main` stand, modulo 2^22
  };
  [[nodiscard]] Rest Close() noexcept;

 private:
  friend struct MailboxLayout;
  template <class... Pointers>
  [[nodiscard]] static bool IsAnySet(const Pointers*... pointers) noexcept {  // one test for all
    return (reinterpret_cast<std::uintptr_t>(pointers) | ...) != 0;
  }
  // Returns false if nothing waits in Urgent and System, or something has only just arrived.
  [[nodiscard]] bool MayHaveExpress() const noexcept {
    return IsAnySet(express_.load(std::memory_order_relaxed), urgent_.head, system_.head);
  }
  Envelope* PopExpress() noexcept;
  // The part of TryIdle that follows when the lists are empty, or without Main.
  bool TryIdleOnceEmpty(bool with_main) noexcept;
  // Looks at the express stack and the owner's queue once the state is idle. Returns false if something waits there,
  // and the right to run was taken back.
  bool StaysIdle(bool with_main) noexcept;
  void Prepare(std::uint32_t capacity) noexcept;
  PushOutcome PushExpress(Envelope* envelope) noexcept;
  // The part of Pop for Main messages, at least one, that are still on the stack or have to be turned round.
  Envelope* PopArrived() noexcept;
  // Moves the messages that have arrived in Main, at least one, to main_. Returns false if something has arrived on the
  // express stack meanwhile: then main_ is not a list yet, and the next call goes on.
  [[nodiscard]] bool DrainMain() noexcept;
  void FinishDraining() noexcept;
  // Adds the messages that have arrived in Main to main_, which need not be empty.
  void AppendMain() noexcept;
  // Puts the envelopes of the express stack into their lanes, the oldest first.
  void AppendExpress(Envelope* newest) noexcept;
  void CollectExpress() noexcept;
  void SetMarker(Envelope* marker) noexcept {
    Envelope* const old = marker_;
    const bool released = marker_released_;
    marker_ = marker;
    marker_released_ = false;
    if (released) FreeEnvelope(old, old->size_class);
  }
  void CountTaken() noexcept {
    taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // Looked at by the consumer before each message, so not on the line that senders to Main write with each.
  std::atomic<Envelope*> express_{ClosedExpress()};
  // Then comes what the consumer writes, 64 bytes, then what these senders write. In an object that begins 8 bytes
  // before a cache line both are on lines of their own. The next one is read by senders where there is a bound.
  std::atomic<std::uint32_t> taken_{0};  // Main messages popped, modulo 2^32
  bool marker_released_ = false;  // handled: its memory is freed when it is the marker no longer
  // main_ has only the newest messages, turned round so far; the `next` of its tail is where to go on.
  bool is_draining_ = false;
  bool has_unvisited_ = false;  // urgent_; see VisitUrgent
  Envelope* marker_ = nullptr;
  EnvelopeList main_;
  EnvelopeList system_;
  EnvelopeList urgent_;
  DispatchState state_;
  std::atomic<std::uint32_t> queued_{0};    // in the owner's queue
  std::atomic<std::uint32_t> capacity_{0};  // by the consumer, seldom

  // The express stack of a closed mailbox: an address that is no envelope's.
  static Envelope* ClosedExpress() noexcept {
    return reinterpret_cast<Envelope*>(std::uintptr_t{2});
  }
};

}  // namespace ergon::core
