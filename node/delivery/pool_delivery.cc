// How a message for a pool gets to one of its workers, in the thread of its sender. When the pool itself has to do
// that, for messages that no worker took at once: act/pool/rotation_forwarder.cc.
#include <algorithm>
#include <optional>
#include <utility>

#include <ergon/core/messages/offer_in_turn.h>
#include <ergon/core/queues/injection_hold.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/former_mark.h>

namespace ergon::node {
namespace {

// This thread delivers for a sender that waits for room. No parameter: each message of a pool would pay for passing it
// on. Who uses it is not inlined, since a process may go on on another thread after a wait.
constinit thread_local bool for_waiting = false;

struct ForWaiting {
  ForWaiting() { for_waiting = true; }
  ForWaiting(const ForWaiting&) = delete;
  ForWaiting& operator=(const ForWaiting&) = delete;
  ~ForWaiting() { for_waiting = false; }
};

// Returns whether this is a request by the worker itself, which must not wait for itself.
bool IsOfWorker(const core::Envelope& envelope, gen::PID worker) {
  return IsRequest(envelope) && gen::PID::FromAddress(envelope.from) == worker;
}

}  // namespace

// What the workers have said to one message.
struct Delivery::Met {
  bool pool_ended = false;
  bool worker_gone = false;          // or the pool lets nobody in for now
  bool caller = false;               // a worker that calls its own pool must not wait for itself
  std::int64_t excess = INT64_MAX;   // ns, of the shortest wait that is too long
  std::optional<gen::Error> failed;  // a worker's mailbox threw
  FormerMark former;                 // of an outer pool, if this one is a worker
};

// The way of a message that TryWorker has not delivered is in this order: ToWorker, OfferTo, and OfferBySteps for a
// worker that does not take it at once.
gen::Result<void> Delivery::ToWorker(ProcessSlot& pool, gen::PID to, core::EnvelopePtr& envelope,
                                     std::uint64_t turn) {
  PoolSlot* const slot = pool.pool();  // partner: ProcessSlot::GetPoolSlot
  // Whoever has a turn has looked before.
  if (turn == kNoTurn) {
    QueueLane* const lane = pool.GetQueueLane();
    if (lane != nullptr && lane->IsOf(GenerationOf(to))) return Enqueue(pool, *lane, to, envelope);
    if (slot == nullptr) return gen::ErrProcessTerminated;
    if (slot->has_rules.load(std::memory_order_relaxed)) {
      return ToWorkerByRules(pool, *slot, to, envelope);
    }
  }
  Met met;
  if (turn == kNoTurn) met.former = FormerMark(*envelope);  // else TryWorker may have marked it
  core::Rotation& rotation = slot->rotation;
  const auto offer = [&](std::uint64_t worker) {
    const core::Offered offered =
        worker == 0 ? core::Offered::kEnough : OfferTo(worker, 0, pool, *slot, to, envelope, met);
    if (offered != core::Offered::kTaken) rotation.Skipped();
    return offered;
  };
  const std::uint64_t first = turn == kNoTurn ? rotation.Next() : turn;
  core::Offered offered = offer(first);
  if (offered == core::Offered::kNotTaken) [[unlikely]] {
    // Then those behind that one, by their places: the next tickets may be other senders', and this message would come
    // to the same worker again, but not to one that has room.
    std::uint64_t place = rotation.PlaceOf(first);
    std::uint32_t others = rotation.size();
    if (others != 0 && rotation.At(place) == first) --others;  // else it has left the ring
    for (; offered == core::Offered::kNotTaken && others != 0; --others) {
      offered = offer(rotation.TakeAt(++place));
    }
  }
  if (offered == core::Offered::kTaken) return {};
  return NotTaken(offered, pool, *slot, to, envelope, met);
}

gen::Result<void> Delivery::ToWorkerByRules(ProcessSlot& pool, PoolSlot& slot, gen::PID to,
                                            core::EnvelopePtr& envelope) {
  if (slot.choice.load(std::memory_order_relaxed) == gen::SenderChoice::kPool) {
    return RefusedByPool(pool, slot, to, envelope);
  }
  const std::int64_t limit = slot.admission_limit.load(std::memory_order_relaxed);
  // Whom this thread keeps from a turn, the waits below would be too long.
  if (limit != 0) core::InjectionHold::ReleaseCurrent();
  std::uint64_t choice = FirstChoice(slot);
  Met met;
  met.former = FormerMark(*envelope);
  const core::Offered offered = core::OfferInTurn(
      slot.rotation, [&] { return slot.rotation.TakeAt(choice++); },
      [&](std::uint64_t worker) { return OfferTo(worker, limit, pool, slot, to, envelope, met); });
  if (offered == core::Offered::kTaken) return {};
  return NotTaken(offered, pool, slot, to, envelope, met);
}

[[gnu::always_inline]] inline core::Offered Delivery::OfferTo(std::uint64_t worker,
                                                              std::int64_t limit, ProcessSlot& pool,
                                                              const PoolSlot& slot, gen::PID to,
                                                              core::EnvelopePtr& envelope,
                                                              Met& met) {
  // The slot may have a new process by now, and the rotation may be a new pool's.
  if (!pool.HasProcess(to)) [[unlikely]] {
    met.pool_ended = true;
    return core::Offered::kEnough;
  }
  // Acquire, after the look at the rotation; partner: Process::TryRedirectMain.
  if (!slot.open.load(std::memory_order_acquire)) [[unlikely]] {
    met.worker_gone = true;
    return core::Offered::kEnough;
  }
  const gen::PID worker_pid = needs_.addresses.PidOf(worker);
  const bool is_request = IsRequest(*envelope);
  // A process of another node may have the same number.
  if (is_request && worker == envelope->from.id &&
      gen::PID::FromAddress(envelope->from) == worker_pid) [[unlikely]] {
    met.caller = true;
    return core::Offered::kNotTaken;
  }
  if (limit != 0) [[unlikely]] {
    const std::int64_t wait = WaitAt(slot.rotation, worker);
    if (wait > limit && wait != INT64_MAX) {
      met.excess = std::min(met.excess, wait - limit);
      return core::Offered::kNotTaken;
    }
  }
  if (is_request) needs_.call_edges.Redirect(worker_pid, *envelope);
  MarkRouted(*envelope, to.id);
  const Attempt attempt = TryMain(needs_.addresses.FindHere(worker), worker_pid, envelope);
  if (!attempt.IsTaken()) [[unlikely]]
    return OfferBySteps(attempt, worker_pid, envelope, met);
  attempt.ScheduleIfDue();
  return core::Offered::kTaken;
}

core::Offered Delivery::OfferBySteps(const Attempt& attempt, gen::PID worker,
                                     core::EnvelopePtr& envelope, Met& met) {
  auto sent = Complete(attempt, worker, envelope);
  if (sent) return core::Offered::kTaken;
  if (sent.error().code() == gen::ErrorCode::kInternal) {
    met.failed = std::move(sent.error());
    return core::Offered::kEnough;
  }
  if (sent.error() == gen::ErrOverloaded) {  // a pool as a worker, with a limit of its own
    met.excess = std::min<std::int64_t>(met.excess, sent.error().RetryAfter().count());
  } else if (sent.error() == gen::ErrDeadlock) {  // the caller is a worker of a pool as a worker
    met.caller = true;
  } else if (sent.error() != gen::ErrProcessMailboxFull) {
    met.worker_gone = true;
  }
  return core::Offered::kNotTaken;
}

gen::Result<void> Delivery::NotTaken(core::Offered offered, ProcessSlot& pool, PoolSlot& slot,
                                     gen::PID to, core::EnvelopePtr& envelope, Met& met) {
  UnmarkRouted(*envelope);
  if (met.failed) return std::move(*met.failed);
  if (met.pool_ended || !pool.HasProcess(to)) return gen::ErrProcessTerminated;
  if (offered == core::Offered::kEnough)
    return ToPool(pool, to, envelope, met);  // there was nobody
  // Before a worker that is gone: the pool would give the message to one whose wait is too long.
  if (met.excess != INT64_MAX) {
    return RefusedForLoad(slot, to, std::chrono::nanoseconds(met.excess), met.former.is_routed());
  }
  if (met.worker_gone) return ToPool(pool, to, envelope, met);  // it is being replaced
  if (met.caller && slot.rotation.size() == 1) {
    return gen::Error(gen::ErrorCode::kDeadlock,
                      "the pool's only worker calls its own pool: it would wait for itself");
  }
  if (AllFull(pool, slot, to, envelope)) return {};
  return RefusedByAll(pool, to, met.former.is_routed());
}

gen::Result<void> Delivery::ToPool(ProcessSlot& pool, gen::PID to, core::EnvelopePtr& envelope,
                                   const Met& met) {
  met.former.PutBack(*envelope);
  if (IsRequest(*envelope)) needs_.call_edges.Redirect(to, *envelope);
  // The slot may have a new process by now, redirected for a reason of its own.
  if (!pool.HasProcess(to) || pool.mailbox().IsMainRefused()) return gen::ErrProcessTerminated;
  // The next sender finds the redirection ended, so that the bound is exceeded by those who come at once.
  const std::uint32_t capacity = pool.mailbox().capacity();
  if (capacity != 0 && pool.mailbox().MainDepthApprox() >= capacity) {
    return MailboxFull(pool, to, envelope);
  }
  envelope->generation = GenerationOf(to);
  return Accept(pool, to, pool.mailbox().PushAndAccept(envelope.get()), envelope);
}

gen::Result<void> Delivery::RefusedByPool(ProcessSlot& pool, PoolSlot& slot, gen::PID to,
                                          core::EnvelopePtr& envelope) {
  // The slot may have a new process by now.
  const std::int64_t retry_after = slot.retry_after.load(std::memory_order_relaxed);
  if (!pool.HasProcess(to)) {
    return gen::ErrProcessTerminated;
  }
  const bool is_offered = IsRouted(*envelope);
  if (retry_after != 0)
    return RefusedForLoad(slot, to, std::chrono::nanoseconds(retry_after), is_offered);
  if (ToFallback(pool, to, envelope)) return {};
  return RefusedByAll(pool, to, is_offered);
}

gen::Result<void> Delivery::RefusedForLoad(PoolSlot& slot, gen::PID to,
                                           std::chrono::nanoseconds retry_after, bool is_offered) {
  if (!is_offered) {
    slot.rotation.Refused();
    slot.overloaded.fetch_add(1, std::memory_order_relaxed);
    NoteShortage(slot, to);
  }
  return gen::Error::Overloaded(retry_after);
}

bool Delivery::AllFull(ProcessSlot& pool, PoolSlot& slot, gen::PID to,
                       core::EnvelopePtr& envelope) {
  if (slot.makes_room.load(std::memory_order_relaxed)) {
    gen::PID worker = needs_.addresses.PidOf(slot.rotation.Next());
    if (IsOfWorker(*envelope, worker)) {  // as PoolForwarder::MakeRoom does
      slot.rotation.Skipped();
      worker = needs_.addresses.PidOf(slot.rotation.Next());
    }
    // Or the slot has a new pool by now, whose worker that is.
    if (IsOfWorker(*envelope, worker) || !pool.HasProcess(to)) {
      slot.rotation.Skipped();
      return false;
    }
    MarkRouted(*envelope, to.id);
    if (IsRequest(*envelope)) needs_.call_edges.Redirect(worker, *envelope);
    if (DeliverMakingRoom(worker, envelope)) return true;
    slot.rotation.Skipped();
    UnmarkRouted(*envelope);
  }
  return ToFallback(pool, to, envelope);
}

gen::Result<void> Delivery::DeliverMakingRoom(gen::PID worker, core::EnvelopePtr& envelope) {
  envelope->flags |= core::Envelope::kFlagMakeRoom;
  auto sent = Deliver(worker, envelope);
  if (!sent) envelope->flags &= static_cast<std::uint8_t>(~core::Envelope::kFlagMakeRoom);
  return sent;
}

gen::Result<void> Delivery::RefusedByAll(ProcessSlot& pool, gen::PID to, bool is_offered) {
  if (!pool.HasProcess(to)) return gen::ErrProcessTerminated;
  PoolSlot& slot = *pool.pool();
  if (!for_waiting && !is_offered) slot.rotation.Refused();
  if (!is_offered) NoteShortage(slot, to);
  return gen::ErrProcessMailboxFull;
}

gen::Result<void> Delivery::DeliverForWaiting(gen::PID to, core::EnvelopePtr& envelope) {
  const ForWaiting scope;
  return Deliver(to, envelope);
}

void Delivery::CountRefused(gen::PID to) {
  ProcessSlot* const process = needs_.addresses.Find(to);
  if (process != nullptr && process->IsPool()) process->pool()->rotation.Refused();
}

void Delivery::NoteShortage(PoolSlot& slot, gen::PID to) {
  // Relaxed: the pool counts what was refused, it needs no message's content.
  if (slot.shortage.load(std::memory_order_relaxed)) return;
  core::EnvelopePtr notice = core::MakeSignal(  // it may throw: before it is noted
      static_cast<std::uint8_t>(gen::EnvelopeKind::kShortage), core::Lane::kSystem);
  notice->from = needs_.addresses.NodePid().ToAddress();
  if (slot.shortage.exchange(true, std::memory_order_relaxed)) return;
  // A pool that is gone need not know; the slot may have a new one, which knows of no shortage.
  if (!Deliver(to, notice)) slot.shortage.store(false, std::memory_order_relaxed);
}

}  // namespace ergon::node
