// How a message for a pool gets to one of its workers, in the thread of its sender.
#include <algorithm>

#include <ergon/core/foundations/mix.h>
#include <ergon/core/queues/injection_hold.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/envelope_marks.h>

namespace ergon::node {

gen::Result<void> Delivery::Route(ProcessSlot& pool, gen::PID to, core::EnvelopePtr& envelope) {
  QueueLane* lane = pool.GetQueueLane();
  if (lane != nullptr && lane->IsOf(GenerationOf(to))) return Enqueue(pool, *lane, to, envelope);
  PoolSlot* slot = pool.pool();  // partner: ProcessSlot::GetPoolSlot
  if (slot == nullptr) return gen::ErrProcessTerminated;
  if (slot->refuses.load(std::memory_order_acquire)) return gen::ErrProcessTerminated;
  core::Rotation& rotation = slot->rotation;
  const bool has_rules = slot->has_rules.load(std::memory_order_relaxed);
  std::uint64_t first = 0;
  std::int64_t limit = 0;
  std::int64_t excess = INT64_MAX;  // of the shortest wait that is too long
  if (has_rules) [[unlikely]] {
    if (slot->choice.load(std::memory_order_relaxed) == gen::SenderChoice::kPool) {
      return RefusedByPool(pool, *slot, to, envelope);
    }
    first = FirstChoice(*slot);
    limit = slot->admission_limit.load(std::memory_order_relaxed);
    // Whom this thread keeps from a turn, the waits below would be too long.
    if (limit != 0) core::InjectionHold::ReleaseCurrent();
  }
  bool found_gone = false;
  bool found_self = false;
  const std::uint32_t tries = rotation.size();
  for (std::uint32_t i = 0; i < tries; ++i) {
    const std::uint64_t worker = has_rules ? rotation.TakeAt(first + i) : rotation.Next();
    // The slot may have a new process by now, and the rotation may be a new pool's.
    if (!pool.HasProcess(to)) {
      rotation.Skipped();
      return gen::ErrProcessTerminated;
    }
    // Acquire, after the look at the rotation; partner: Process::TryRedirectMain.
    if (worker == 0 || !slot->open.load(std::memory_order_acquire)) {
      rotation.Skipped();
      found_gone = true;
      break;
    }
    if (worker == envelope->from.id && IsRequest(*envelope)) {
      rotation.Skipped();  // a worker that calls its own pool must not wait for itself
      found_self = true;
      continue;
    }
    const std::int64_t wait = limit == 0 ? 0 : WaitAt(rotation, worker);
    if (wait > limit && wait != INT64_MAX) {
      rotation.Skipped();
      excess = std::min(excess, wait - limit);
      continue;
    }
    MarkRouted(*envelope, to.id);
    const gen::PID worker_pid = needs_.addresses.PidOf(worker);
    if (IsRequest(*envelope)) needs_.call_edges.Redirect(worker_pid, *envelope);
    const Attempt attempt = TryMain(worker_pid, envelope);
    if (attempt.IsTaken()) [[likely]] {
      attempt.ScheduleIfDue();
      return {};
    }
    auto sent = Otherwise(attempt.outcome, worker_pid, envelope);
    if (sent) return sent;
    rotation.Skipped();
    if (sent.error().code() == gen::ErrorCode::kInternal) {  // the worker's mailbox threw
      UnmarkRouted(*envelope);
      return sent;
    }
    if (sent.error() != gen::ErrProcessMailboxFull) found_gone = true;
  }
  UnmarkRouted(*envelope);
  if (excess != INT64_MAX && !found_gone) {
    return RefusedForLoad(*slot, std::chrono::nanoseconds(excess));
  }
  if (tries != 0 && !found_gone && !found_self && AllFull(pool, *slot, to, envelope)) return {};
  if (found_self && tries == 1) {
    return gen::Error(gen::ErrorCode::kDeadlock,
                      "the pool's only worker calls its own pool: it would wait for itself");
  }
  if (tries != 0 && !found_gone) return RefusedByAll(pool, to);
  if (IsRequest(*envelope)) needs_.call_edges.Redirect(to, *envelope);
  // The slot may have a new process by now, redirected for a reason of its own.
  if (!pool.HasProcess(to)) {
    return gen::ErrProcessTerminated;
  }
  // Workers are being replaced: the pool keeps the message until there is one, if it has room for it. The
  // next sender finds the redirection ended, so that this is exceeded by those who come at once.
  const std::uint32_t capacity = pool.mailbox().capacity();
  if (capacity != 0 && pool.mailbox().MainDepthApprox() >= capacity) {
    return MailboxFull(pool, to, envelope);
  }
  envelope->generation = GenerationOf(to);
  return Accept(pool, to, pool.mailbox().PushAndAccept(envelope.get()), envelope);
}

std::uint64_t Delivery::FirstChoice(PoolSlot& slot) const {
  const core::Rotation& rotation = slot.rotation;
  const std::uint64_t turn = rotation.Turn();
  const std::uint32_t size = rotation.size();
  switch (slot.choice.load(std::memory_order_relaxed)) {
    case gen::SenderChoice::kRandom:
      return core::Mix(slot.seed.load(std::memory_order_relaxed) + turn) % std::max(size, 1u);
    case gen::SenderChoice::kLeastLoaded: {
      // Relaxed: two senders at once may begin at the same place.
      const std::uint64_t first = slot.next_choice.load(std::memory_order_relaxed);
      std::uint64_t best = first;
      std::uint64_t least = UINT64_MAX;
      for (std::uint32_t i = 0; i < size && least != 0; ++i) {
        const std::uint64_t load = LoadOf(rotation.At(first + i));
        if (load < least) {
          least = load;
          best = first + i;
        }
      }
      slot.next_choice.store(best + 1, std::memory_order_relaxed);
      return best;
    }
    default:
      return turn;
  }
}

std::uint64_t Delivery::LoadOf(std::uint64_t worker) const {
  const ProcessSlot* process = needs_.addresses.Find(needs_.addresses.PidOf(worker));
  if (process == nullptr) return UINT64_MAX;
  std::uint64_t load = process->LoadApprox();
  if (!process->mailbox().IsRedirected()) return load;
  // A pool as a worker: its own workers have what it was given.
  const PoolSlot* slot = process->pool();
  for (std::uint32_t i = 0; slot != nullptr && i < slot->rotation.size(); ++i) {
    const std::uint64_t part = LoadOf(slot->rotation.At(i));
    if (part != UINT64_MAX) load += part;
  }
  return load;
}

std::int64_t Delivery::WaitAt(const core::Rotation& rotation, std::uint64_t worker) const {
  const ProcessSlot* process = needs_.addresses.Find(needs_.addresses.PidOf(worker));
  if (process == nullptr) return INT64_MAX;
  std::int64_t mean = process->Rare().mean_handling.load(std::memory_order_relaxed);
  // A new worker will take as long as another.
  for (std::uint32_t i = 0; mean == 0 && i < rotation.size(); ++i) {
    const ProcessSlot* other = needs_.addresses.Find(needs_.addresses.PidOf(rotation.At(i)));
    if (other != nullptr) mean = other->Rare().mean_handling.load(std::memory_order_relaxed);
  }
  return static_cast<std::int64_t>(process->LoadApprox()) * mean;
}

gen::Result<void> Delivery::RefusedByPool(ProcessSlot& pool, PoolSlot& slot, gen::PID to,
                                          core::EnvelopePtr& envelope) {
  // The slot may have a new process by now.
  const std::int64_t retry_after = slot.retry_after.load(std::memory_order_relaxed);
  if (!pool.HasProcess(to)) {
    return gen::ErrProcessTerminated;
  }
  if (retry_after != 0) return RefusedForLoad(slot, std::chrono::nanoseconds(retry_after));
  if (ToFallback(pool, to, envelope)) return {};
  return RefusedByAll(pool, to);
}

gen::Result<void> Delivery::RefusedForLoad(PoolSlot& slot, std::chrono::nanoseconds retry_after) {
  slot.rotation.Refused();
  slot.overloaded.fetch_add(1, std::memory_order_relaxed);
  return gen::Error::Overloaded(retry_after);
}

bool Delivery::AllFull(ProcessSlot& pool, PoolSlot& slot, gen::PID to,
                       core::EnvelopePtr& envelope) {
  if (slot.makes_room.load(std::memory_order_relaxed)) {
    const gen::PID worker = needs_.addresses.PidOf(slot.rotation.Next());
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

gen::Result<void> Delivery::RefusedByAll(ProcessSlot& pool, gen::PID to) {
  PoolSlot& slot = *pool.pool();
  slot.rotation.Refused();
  NoteShortage(slot, to);
  return gen::ErrProcessMailboxFull;
}

void Delivery::NoteShortage(PoolSlot& slot, gen::PID to) {
  // Relaxed: the pool counts what was refused, it needs no message's content.
  if (slot.shortage.load(std::memory_order_relaxed) ||
      slot.shortage.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  core::EnvelopePtr notice = core::MakeSignal(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kShortage), core::Lane::kSystem);
  notice->from = needs_.addresses.NodePid().ToAddress();
  (void)Deliver(to, notice);  // a pool that is gone need not know
}

gen::WorkerProgress Delivery::ProgressOf(gen::PID worker) const {
  gen::WorkerProgress progress;
  const ProcessSlot* slot = needs_.addresses.Find(worker);
  if (slot == nullptr) {
    progress.ended = true;
    return progress;
  }
  // Messages move on while this looks: from the queue to the handler, and to what is handled. In
  // this order none is counted twice; it is looked at again when one may have been missed, so that
  // a worker that seems to be at rest is.
  for (int tries = 0; tries < 3; ++tries) {
    progress.handled = slot->routed_work().Handled();
    progress.current = slot->routed_work().IsCurrent();
    const std::uint32_t taken = slot->mailbox().TakenApprox();
    progress.dropped = slot->Rare().routed_unstashed.Read();
    progress.queued = slot->MainMessagesApprox() + slot->AsideApprox();
    progress.busy = slot->activity().IsInHandler();
    if (slot->mailbox().TakenApprox() == taken) break;
    progress.busy = true;
  }
  progress.passed = progress.handled;
  progress.pace = std::chrono::nanoseconds(slot->Rare().work_pace.Mean());
  // A pool that is a worker of another has handled what its own workers have, and what has come to its end
  // there otherwise: that is its own affair, with its own counters.
  if (const PoolSlot* pool = slot->pool()) {
    progress.handled += pool->Settled();
    AddWorkersOf(*pool, progress);
  }
  progress.expired = slot->Rare().routed_expired.Read();
  progress.aside = slot->AsideApprox();
  progress.mean_handling =
      std::chrono::nanoseconds(slot->Rare().mean_handling.load(std::memory_order_relaxed));
  return progress;
}

void Delivery::AddWorkersOf(const PoolSlot& pool, gen::WorkerProgress& progress) const {
  progress.passed += pool.rotation.Given() + pool.never_given.load(std::memory_order_relaxed);
  double rate = 0;  // messages in a nanosecond
  for (std::uint32_t i = 0; i < pool.rotation.size(); ++i) {
    const gen::WorkerProgress worker = ProgressOf(needs_.addresses.PidOf(pool.rotation.At(i)));
    progress.handled += worker.handled;
    progress.queued += worker.queued + (worker.current ? 1 : 0);
    progress.busy = progress.busy || worker.busy;
    if (worker.pace.count() != 0) rate += 1 / static_cast<double>(worker.pace.count());
  }
  if (rate > 0) progress.pace = std::chrono::nanoseconds(static_cast<std::int64_t>(1 / rate));
}

}  // namespace ergon::node
