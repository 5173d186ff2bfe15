// How an envelope reaches a mailbox, or its sender gets an error, or it is counted as dropped.
//
//   delivery.cc        to a process
//   pool_delivery.cc   to a worker of a pool, in the thread of its sender
//   worker_progress.cc how much the workers have to do, and how far they are
//   responses.cc       answers to their callers
#pragma once

#include <chrono>
#include <cstdint>

#include <ergon/core/clock.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/core/messages/offer_in_turn.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/dropped_message.h>
#include <ergon/gen/error.h>
#include <ergon/gen/host/pool_host.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/call_edges.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/late_drops.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/delivery/pending_calls.h>
#include <ergon/node/delivery/ticks.h>
#include <ergon/node/delivery/withdrawn_requests.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Any thread.
class Delivery final : private LateDrops::Dropper {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    Addresses& addresses;
    PendingCalls& pending_calls;
    CallEdges& call_edges;
    WithdrawnRequests& withdrawn;
    Drops& drops;
    MessageTotals& totals;
    Ticks& ticks;
    core::TimerQueue& timers;
    const core::Clock* measuring_clock;  // for NoteSent; null: nothing is measured
  };
  explicit Delivery(const Needs& needs) : needs_(needs) {}

  // -- messages, notices and signals --

  // Notes on a message or a value of an event that it is sent now, if NodeOptions::measure_latency wants that and it
  // has room for it (HasRoomForTime). Called by those who send, for only they know that it is no copy or second
  // attempt.
  void NoteSent(core::Envelope& envelope) const {
    if (needs_.measuring_clock != nullptr && HasRoomForTime(envelope)) [[unlikely]]
      envelope.deadline = needs_.measuring_clock->Now();
  }
  // Delivers an envelope, or returns why not and leaves the envelope to the caller.
  gen::Result<void> Deliver(gen::PID to, core::EnvelopePtr& envelope);
  // The first step of Deliver, inlined into the caller; nearly always the last, too: into the Main lane of a process.
  // If it is taken, the envelope belongs to the mailbox, and may be handled and gone already; the caller must call
  // ScheduleIfDue. Otherwise the envelope is still the caller's: ToWorker does the rest for a redirected mailbox,
  // Complete for all.
  struct Attempt {
    ProcessSlot* slot;  // of the receiver, if it lives here
    core::PushOutcome outcome;
    [[nodiscard]] bool IsTaken() const noexcept {
      return outcome <= core::PushOutcome::kMustSchedule;
    }
    void ScheduleIfDue() const {
      if (outcome == core::PushOutcome::kMustSchedule) slot->Schedule();
    }
  };
  [[gnu::always_inline]] Attempt TryMain(gen::PID to, core::EnvelopePtr& envelope) const {
    return TryMain(needs_.addresses.Find(to), to, envelope);
  }
  // Does the same if `slot` is what Addresses::Find has returned.
  [[gnu::always_inline]] static Attempt TryMain(ProcessSlot* slot, gen::PID to,
                                                core::EnvelopePtr& envelope) {
    if (slot == nullptr || envelope->lane != core::Lane::kMain) [[unlikely]]
      return {slot, core::PushOutcome::kUntried};
    envelope->generation = GenerationOf(to);
    const core::PushOutcome outcome = slot->mailbox().TryPushMain(envelope.get());
    if (outcome <= core::PushOutcome::kMustSchedule) [[likely]]
      (void)envelope.release();
    return {slot, outcome};
  }
  gen::Result<void> Complete(const Attempt& attempt, gen::PID to, core::EnvelopePtr& envelope);
  // Delivers to the next worker of the pool `to`, whose mailbox is redirected. `turn`: the turn that TryWorker has
  // taken.
  static constexpr std::uint64_t kNoTurn = UINT64_MAX;
  gen::Result<void> ToWorker(ProcessSlot& pool, gen::PID to, core::EnvelopePtr& envelope,
                             std::uint64_t turn = kNoTurn);
  // The first step of ToWorker, inlined into the caller; nearly always the last, too: pushes a message into the Main
  // lane of the worker whose turn it is. If the message is not taken, the turn may be used up, and must be given to
  // ToWorker.
  [[gnu::always_inline]] Attempt TryWorker(ProcessSlot& pool, gen::PID to,
                                           core::EnvelopePtr& envelope, std::uint64_t& turn) const {
    PoolSlot* const slot = pool.pool();  // partner: ProcessSlot::GetPoolSlot
    if (slot == nullptr || !slot->IsPlain() || pool.GetQueueLane() != nullptr ||
        IsRequest(*envelope)) [[unlikely]] {
      return {&pool, core::PushOutcome::kUntried};
    }
    turn = slot->rotation.Next();
    // As in OfferTo.
    if (turn == 0 || !pool.HasProcess(to) || !slot->open.load(std::memory_order_acquire))
        [[unlikely]] {
      return {&pool, core::PushOutcome::kUntried};
    }
    MarkRouted(*envelope, to.id);
    return TryMain(needs_.addresses.FindHere(turn), needs_.addresses.PidOf(turn), envelope);
  }
  // Delivers an envelope that stands for several messages (unmade_messages.h) into the Main lane of a process of this
  // node, or returns false and leaves it to the caller: then each of them has to be delivered for itself.
  [[nodiscard]] bool DeliverTogether(gen::PID to, std::uint32_t messages,
                                     core::EnvelopePtr& envelope);
  // Returns whether messages for that process are worth gathering. One with a small mailbox may handle some before the
  // next ones come, and so has room for them.
  [[nodiscard]] bool TakesTogether(gen::PID to) const;
  // Delivers an envelope, or drops and counts what nobody else would report, and returns why.
  gen::Result<void> DeliverOrDrop(const gen::Target& to, core::EnvelopePtr envelope);
  // Delivers to a worker that may drop another message to make room.
  gen::Result<void> DeliverMakingRoom(gen::PID worker, core::EnvelopePtr& envelope);
  // Delivers in the name of the node: the message is counted as sent by no process.
  gen::Result<void> DeliverFromNode(gen::PID to, core::EnvelopePtr& envelope);
  // Does what Deliver does for a sender that waits for room. A pool without room does not count the message as refused:
  // CountRefused does, when its sender has waited in vain.
  [[gnu::noinline]] gen::Result<void> DeliverForWaiting(gen::PID to, core::EnvelopePtr& envelope);
  void CountRefused(gen::PID to);
  // Does what the outcome of a push into the mailbox of `to` requires.
  gen::Result<void> Accept(ProcessSlot& slot, gen::PID to, core::PushOutcome outcome,
                           core::EnvelopePtr& envelope);

  // -- what nobody handles --

  // What is pushed out while the result lives is dropped when it ends.
  [[nodiscard]] LateDrops DropLate() { return LateDrops(*this); }

  // Ends an envelope that nobody will handle: a request is answered, everything else is counted. `to`: the process that
  // should have handled it; the empty PID: not known. `is_told`: also to who listens to dead letters.
  void Drop(core::EnvelopePtr envelope, gen::PID to, gen::DropReason reason,
            const gen::Error& error, bool is_told = true);
  // Counts a message that was dropped because a mailbox was full, or a stash. `pool` is the receiver's parent, and
  // maybe the pool that the message came through, which is returned then.
  PoolSlot* CountOverflow(ProcessSlot& receiver, gen::PID pool, const core::Envelope& envelope);
  // Tells a pool that this worker is done with a message.
  void ReportProgress(gen::PID worker, gen::PID pool);

  // -- pools --

  // Sends the pool `to`, which has this slot, one notice of the shortage; see gen::PoolHost::NoteShortage.
  void NoteShortage(PoolSlot& slot, gen::PID to);
  // Returns where in a pool's rotation the next message tries first.
  [[nodiscard]] std::uint64_t FirstChoice(PoolSlot& slot) const;
  // Returns how far a worker is with what came through its pool. All zero and `ended` when the worker is gone.
  [[nodiscard]] gen::WorkerProgress ProgressOf(gen::PID worker) const;

  // -- answers --

  // Answers a request. Returns kResponseIgnored if nobody waits for the answer.
  gen::Result<void> Respond(gen::PID from, std::uint64_t ref, core::EnvelopePtr response);
  void RespondError(gen::PID from, std::uint64_t ref, const gen::Error& error);
  // Does what Respond does, but keeps the note that the request was withdrawn.
  gen::Result<void> RespondToWithdrawn(gen::PID from, std::uint64_t ref,
                                       core::EnvelopePtr response);
  [[nodiscard]] bool IsAwaited(gen::PID from, gen::Ref ref) const;
  // Ends the caller's wait for a request whose time is up and with which no handler begins, before the caller's own
  // timer fires.
  void ExpireWaitFor(const core::Envelope& request);
  // Ends a request without a stack whose time is up; see gen::Process::Request.
  void ExpireRequest(ProcessSlot& caller, std::uint64_t id);

 private:
  // Handles an envelope that the mailbox has not taken: it is full, redirected or closed.
  gen::Result<void> NotAccepted(ProcessSlot& slot, gen::PID to, core::PushOutcome outcome,
                                core::EnvelopePtr& envelope);
  // Delivers to a process that does not live here: one of another node, or none.
  [[gnu::cold]] gen::Result<void> DeliverElsewhere(gen::PID to, core::EnvelopePtr& envelope);
  gen::Result<void> DeliverExpress(ProcessSlot& slot, gen::PID to, core::EnvelopePtr& envelope);
  // Delivers to a process whose mailbox has a queue of its own.
  gen::Result<void> Enqueue(ProcessSlot& slot, QueueLane& lane, gen::PID to,
                            core::EnvelopePtr& envelope);
  gen::Result<void> MailboxFull(ProcessSlot& slot, gen::PID to, core::EnvelopePtr& envelope);
  bool ToFallback(ProcessSlot& slot, gen::PID to, core::EnvelopePtr& envelope);
  void DropPushedOut(core::EnvelopePtr envelope, gen::PID receiver, gen::PID waiting_pool,
                     bool is_told) override;
  // `pool`: the process's parent.
  void DropOverflow(ProcessSlot& slot, gen::PID pool, core::EnvelopePtr envelope);
  // Returns the parent of a process; the empty PID if the process has ended.
  [[nodiscard]] gen::PID ParentOf(const ProcessSlot& slot, gen::PID pid) const;

  // The steps of ToWorker, in this order: a pool whose senders do not keep to the plain rotation; offering the message
  // to one worker, and again if it does not take it at once; what becomes of a message that no worker has taken;
  // keeping the message at the pool, because its workers are being replaced.
  struct Met;
  gen::Result<void> ToWorkerByRules(ProcessSlot& pool, PoolSlot& slot, gen::PID to,
                                    core::EnvelopePtr& envelope);
  core::Offered OfferTo(std::uint64_t worker, std::int64_t limit, ProcessSlot& pool,
                        const PoolSlot& slot, gen::PID to, core::EnvelopePtr& envelope, Met& met);
  [[gnu::noinline]] core::Offered OfferBySteps(const Attempt& attempt, gen::PID worker,
                                               core::EnvelopePtr& envelope, Met& met);
  [[gnu::noinline]] gen::Result<void> NotTaken(core::Offered offered, ProcessSlot& pool,
                                               PoolSlot& slot, gen::PID to,
                                               core::EnvelopePtr& envelope, Met& met);
  gen::Result<void> ToPool(ProcessSlot& pool, gen::PID to, core::EnvelopePtr& envelope,
                           const Met& met);
  // `is_offered`: by an outer pool, which asks others, or waits: nobody is refused.
  [[gnu::noinline]] gen::Result<void> RefusedByAll(ProcessSlot& pool, gen::PID to, bool is_offered);
  gen::Result<void> RefusedByPool(ProcessSlot& pool, PoolSlot& slot, gen::PID to,
                                  core::EnvelopePtr& envelope);
  gen::Result<void> RefusedForLoad(PoolSlot& slot, gen::PID to,
                                   std::chrono::nanoseconds retry_after, bool is_offered);
  // Makes one worker drop a message, or gives the message to the fallback, because all workers are full. Returns false
  // if neither was possible.
  bool AllFull(ProcessSlot& pool, PoolSlot& slot, gen::PID to, core::EnvelopePtr& envelope);
  // Return how much a worker has to do, and how long a message would wait there (ns); the largest number if the worker
  // is gone.
  [[nodiscard]] std::uint64_t LoadOf(std::uint64_t worker) const;
  [[nodiscard]] std::int64_t WaitAt(const core::Rotation& rotation, std::uint64_t worker) const;
  // Returns the mean of the waits at the workers of a pool that is itself a worker: it takes them in turn.
  [[nodiscard]] std::int64_t WaitAtPool(const core::Rotation& rotation) const;
  // Adds the progress of the workers of `pool` to `progress`.
  void AddWorkersOf(const PoolSlot& pool, gen::WorkerProgress& progress) const;

  // Does what Respond does for all but a process of this node that waits in a Call (answer_call.h).
  [[gnu::noinline]] gen::Result<void> RespondOtherwise(gen::PID from, std::uint64_t ref,
                                                       core::EnvelopePtr& response);
  // Sends the outcome of a request without a stack to HandleResponse. Returns false if nobody waits for it (any more).
  [[nodiscard]] bool AcceptResponse(ProcessSlot& caller, std::uint64_t id,
                                    core::EnvelopePtr response);
  // Sends the outcome after its entry has been taken out. Returns false if the process has ended.
  bool TellOutcome(const ProcessSlot& caller, std::uint32_t generation, std::uint64_t id,
                   core::EnvelopePtr response);

  const Needs needs_;
};

}  // namespace ergon::node
