// How an envelope reaches a mailbox, or its sender is told, or it is counted.
//
//   delivery.cc        to a process
//   pool_delivery.cc   to a worker of a pool, in the thread of its sender
//   worker_progress.cc what the workers have to do, and how far they are
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
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/delivery/pending_calls.h>
#include <ergon/node/delivery/ticks.h>
#include <ergon/node/delivery/withdrawn_requests.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Any thread.
class Delivery {
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
  };
  explicit Delivery(const Needs& needs) : needs_(needs) {}

  // -- messages, notices and signals --

  // Delivers, or returns why not and leaves the envelope to the caller.
  gen::Result<void> Deliver(gen::PID to, core::EnvelopePtr& envelope);
  // The first and nearly always the last step of Deliver, as a part of its caller: into the Main lane of a
  // process. Taken: the envelope is the mailbox's, and maybe handled and gone already, and the caller has to
  // call ScheduleIfDue. Else it is the caller's still: ToWorker does the rest for a redirected mailbox, Complete for all.
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
  // The same when `slot` is what Addresses::Find has found.
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
  // To the next worker of the pool `to`, whose mailbox is redirected. `turn`: what TryWorker has left.
  static constexpr std::uint64_t kNoTurn = UINT64_MAX;
  gen::Result<void> ToWorker(ProcessSlot& pool, gen::PID to, core::EnvelopePtr& envelope,
                             std::uint64_t turn = kNoTurn);
  // The first and nearly always the last step of ToWorker, as a part of its caller: a message into the Main lane of the
  // worker whose turn it is. Not taken: the turn may be used up all the same, and goes to ToWorker.
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
  // Delivers an envelope that stands for several messages (unmade_messages.h) into the Main lane of a process of this node,
  // or returns false and leaves it to the caller: then each of them has to be delivered for itself.
  [[nodiscard]] bool DeliverTogether(gen::PID to, std::uint32_t messages,
                                     core::EnvelopePtr& envelope);
  // Delivers, or drops and counts what nobody will hear of any more, and returns why.
  gen::Result<void> DeliverOrDrop(const gen::Target& to, core::EnvelopePtr envelope);
  // As Deliver, to a worker that may drop a message for it.
  gen::Result<void> DeliverMakingRoom(gen::PID worker, core::EnvelopePtr& envelope);
  // In the name of the node: counted as a message of somebody who is no process.
  gen::Result<void> DeliverFromNode(gen::PID to, core::EnvelopePtr& envelope);
  // To be called with the outcome of a push into the mailbox of `to`.
  gen::Result<void> Accept(ProcessSlot& slot, gen::PID to, core::PushOutcome outcome,
                           core::EnvelopePtr& envelope);

  // -- what nobody handles --

  // Ends an envelope that nobody will handle: a request is answered, everything else is counted.
  // `to`: who should have handled it; the empty PID: not known.
  void Drop(core::EnvelopePtr envelope, gen::PID to, gen::DropReason reason,
            const gen::Error& error);
  // A message was dropped for want of room; `pool` is the receiver's parent, maybe one that it came
  // through.
  void CountOverflow(ProcessSlot& receiver, gen::PID pool, const core::Envelope& envelope);

  // -- pools --

  // The pool `to`, which has this slot, learns of it once; see gen::PoolHost::NoteShortage.
  void NoteShortage(PoolSlot& slot, gen::PID to);
  // Where in a pool's rotation the next message tries first.
  [[nodiscard]] std::uint64_t FirstChoice(PoolSlot& slot) const;
  // How far a worker is with what came through its pool. All zero and `ended` when it is gone.
  [[nodiscard]] gen::WorkerProgress ProgressOf(gen::PID worker) const;

  // -- answers --

  // Answers a request; kResponseIgnored when nobody waits.
  gen::Result<void> Respond(gen::PID from, std::uint64_t ref, core::EnvelopePtr response);
  void RespondError(gen::PID from, std::uint64_t ref, const gen::Error& error);
  // As Respond, but whether the request was withdrawn stays noted.
  gen::Result<void> RespondToWithdrawn(gen::PID from, std::uint64_t ref,
                                       core::EnvelopePtr response);
  [[nodiscard]] bool IsAwaited(gen::PID from, gen::Ref ref) const;
  // Nobody begins with this request, for its time is up: its caller need not wait for its own timer.
  void ExpireWaitFor(const core::Envelope& request);
  // The time of a request without a stack is up; see gen::Process::Request.
  void ExpireRequest(ProcessSlot& caller, std::uint64_t id);

 private:
  // The mailbox has not taken it: it is full, redirected or closed.
  gen::Result<void> NotAccepted(ProcessSlot& slot, gen::PID to, core::PushOutcome outcome,
                                core::EnvelopePtr& envelope);
  // To a process that does not live here: one of another node, or nobody.
  [[gnu::cold]] gen::Result<void> DeliverElsewhere(gen::PID to, core::EnvelopePtr& envelope);
  gen::Result<void> DeliverExpress(ProcessSlot& slot, gen::PID to, core::EnvelopePtr& envelope);
  // To a process whose mailbox has a queue of its own.
  gen::Result<void> Enqueue(ProcessSlot& slot, QueueLane& lane, gen::PID to,
                            core::EnvelopePtr& envelope);
  gen::Result<void> MailboxFull(ProcessSlot& slot, gen::PID to, core::EnvelopePtr& envelope);
  bool ToFallback(ProcessSlot& slot, gen::PID to, core::EnvelopePtr& envelope);
  // `pool`: the process's parent.
  void DropOverflow(ProcessSlot& slot, gen::PID pool, core::EnvelopePtr envelope);
  // Its parent; the empty PID if it has ended.
  [[nodiscard]] gen::PID ParentOf(const ProcessSlot& slot, gen::PID pid) const;

  // The steps of ToWorker. A pool whose senders do not keep to the plain rotation; one worker is offered the message, and
  // again if it does not take it at once; what becomes of a message that no worker has taken; the pool keeps it, because
  // its workers are being replaced.
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
  gen::Result<void> ToPool(ProcessSlot& pool, gen::PID to, core::EnvelopePtr& envelope);
  gen::Result<void> RefusedByAll(ProcessSlot& pool, gen::PID to);
  gen::Result<void> RefusedByPool(ProcessSlot& pool, PoolSlot& slot, gen::PID to,
                                  core::EnvelopePtr& envelope);
  gen::Result<void> RefusedForLoad(PoolSlot& slot, std::chrono::nanoseconds retry_after);
  // All workers are full: one makes room, or the fallback takes it, or false.
  bool AllFull(ProcessSlot& pool, PoolSlot& slot, gen::PID to, core::EnvelopePtr& envelope);
  // What a worker has to do, and how long a message would wait there (ns); the most there is when the
  // process is gone.
  [[nodiscard]] std::uint64_t LoadOf(std::uint64_t worker) const;
  [[nodiscard]] std::int64_t WaitAt(const core::Rotation& rotation, std::uint64_t worker) const;
  // Adds what shows at the workers of the pool that `progress` is of.
  void AddWorkersOf(const PoolSlot& pool, gen::WorkerProgress& progress) const;

  // The steps of Respond: nearly always to a process of this node that waits in a Call, or false; all else.
  bool RespondToCall(gen::PID from, std::uint64_t ref, core::EnvelopePtr& response);
  [[gnu::noinline]] gen::Result<void> RespondOtherwise(gen::PID from, std::uint64_t ref,
                                                       core::EnvelopePtr& response);
  // The outcome of a request without a stack, on its way to HandleResponse. False: nobody waits for
  // it (any more).
  [[nodiscard]] bool AcceptResponse(ProcessSlot& caller, std::uint64_t id,
                                    core::EnvelopePtr response);
  // Once its entry has been taken out. False: that process has ended.
  bool TellOutcome(const ProcessSlot& caller, std::uint32_t generation, std::uint64_t id,
                   core::EnvelopePtr response);

  const Needs needs_;
};

}  // namespace ergon::node
