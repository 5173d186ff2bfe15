// How a message for a pool gets to one of its workers, in the thread of its sender.
#include <algorithm>

#include <ergon/core/foundations/mix.h>
#include <ergon/node/lifecycle/runtime.h>

namespace ergon::node {

gen::Result<void> Runtime::Route(Process& pool, gen::PID to, core::EnvelopePtr& envelope) {
  QueueLane* lane = pool.GetQueueLane();
  if (lane != nullptr && lane->IsOf(GenerationOf(to))) return Enqueue(pool, *lane, to, envelope);
  PoolSlot* slot = pool.pool_.load(std::memory_order_acquire);  // partner: Process::GetPoolSlot
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
  }
  bool found_gone = false;
  bool found_self = false;
  const std::uint32_t tries = rotation.size();
  for (std::uint32_t i = 0; i < tries; ++i) {
    const std::uint64_t worker = has_rules ? rotation.TakeAt(first + i) : rotation.Next();
    // The slot may have a new process by now, and the rotation may be a new pool's.
    if (pool.generation_.load(std::memory_order_acquire) != GenerationOf(to)) {
      rotation.Skipped();
      return gen::ErrProcessTerminated;
    }
    // Acquire, after the look at the rotation; partner: Process::TryRedirectMain.
    if (worker == 0 || !slot->open.load(std::memory_order_acquire)) {
      rotation.Skipped();
      found_gone = true;
      break;
    }
    if (worker == envelope->from.id && Process::IsRequest(*envelope)) {
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
    Process::MarkRouted(*envelope, to.id);
    if (Process::IsRequest(*envelope)) RedirectCall(PidOf(worker), *envelope);
    auto sent = Deliver(PidOf(worker), envelope);
    if (sent) return sent;
    rotation.Skipped();
    if (sent.error() != gen::ErrProcessMailboxFull) found_gone = true;
  }
  Process::UnmarkRouted(*envelope);
  if (excess != INT64_MAX && !found_gone) {
    return RefusedForLoad(*slot, std::chrono::nanoseconds(excess));
  }
  if (tries != 0 && !found_gone && !found_self && AllFull(pool, *slot, to, envelope)) return {};
  if (found_self && tries == 1) {
    return gen::Error(gen::ErrorCode::kDeadlock,
                      "the pool's only worker calls its own pool: it would wait for itself");
  }
  if (tries != 0 && !found_gone) return RefusedByAll(pool, to);
  if (Process::IsRequest(*envelope)) RedirectCall(to, *envelope);
  // The slot may have a new process by now, redirected for a reason of its own.
  if (pool.generation_.load(std::memory_order_acquire) != GenerationOf(to)) {
    return gen::ErrProcessTerminated;
  }
  // Workers are being replaced: the pool keeps the message until there is one, if it has room for it. The
  // next sender finds the redirection ended, so that this is exceeded by those who come at once.
  const std::uint32_t capacity = pool.mailbox_.capacity();
  if (capacity != 0 && pool.mailbox_.MainDepthApprox() >= capacity) {
    return MailboxFull(pool, to, envelope);
  }
  envelope->generation = GenerationOf(to);
  return Accept(pool, to, pool.mailbox_.PushAndAccept(envelope.get()), envelope);
}

std::uint64_t Runtime::FirstChoice(PoolSlot& slot) const {
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

std::uint64_t Runtime::LoadOf(std::uint64_t worker) const {
  const Process* process = Find({worker, name_, creation_});
  if (process == nullptr) return UINT64_MAX;
  std::uint64_t load = process->LoadApprox();
  if (!process->mailbox_.IsRedirected()) return load;
  // A pool as a worker: its own workers have what it was given.
  const PoolSlot* slot = process->pool_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; slot != nullptr && i < slot->rotation.size(); ++i) {
    const std::uint64_t part = LoadOf(slot->rotation.At(i));
    if (part != UINT64_MAX) load += part;
  }
  return load;
}

std::int64_t Runtime::WaitAt(const core::Rotation& rotation, std::uint64_t worker) const {
  const Process* process = Find({worker, name_, creation_});
  if (process == nullptr) return INT64_MAX;
  std::int64_t mean = process->Rare().mean_handling.load(std::memory_order_relaxed);
  // A new worker will take as long as another.
  for (std::uint32_t i = 0; mean == 0 && i < rotation.size(); ++i) {
    const Process* other = Find({rotation.At(i), name_, creation_});
    if (other != nullptr) mean = other->Rare().mean_handling.load(std::memory_order_relaxed);
  }
  return static_cast<std::int64_t>(process->LoadApprox()) * mean;
}

gen::Result<void> Runtime::RefusedByPool(Process& pool, PoolSlot& slot, gen::PID to,
                                         core::EnvelopePtr& envelope) {
  // The slot may have a new process by now.
  const std::int64_t retry_after = slot.retry_after.load(std::memory_order_relaxed);
  if (pool.generation_.load(std::memory_order_acquire) != GenerationOf(to)) {
    return gen::ErrProcessTerminated;
  }
  if (retry_after != 0) return RefusedForLoad(slot, std::chrono::nanoseconds(retry_after));
  if (ToFallback(pool, to, envelope)) return {};
  return RefusedByAll(pool, to);
}

gen::Result<void> Runtime::RefusedForLoad(PoolSlot& slot, std::chrono::nanoseconds retry_after) {
  slot.rotation.Refused();
  slot.overloaded.fetch_add(1, std::memory_order_relaxed);
  return gen::Error::Overloaded(retry_after);
}

bool Runtime::AllFull(Process& pool, PoolSlot& slot, gen::PID to, core::EnvelopePtr& envelope) {
  if (slot.makes_room.load(std::memory_order_relaxed)) {
    const std::uint64_t worker = slot.rotation.Next();
    Process::MarkRouted(*envelope, to.id);
    if (Process::IsRequest(*envelope)) RedirectCall(PidOf(worker), *envelope);
    if (DeliverMakingRoom(PidOf(worker), envelope)) return true;
    slot.rotation.Skipped();
    Process::UnmarkRouted(*envelope);
  }
  return ToFallback(pool, to, envelope);
}

gen::Result<void> Runtime::DeliverMakingRoom(gen::PID worker, core::EnvelopePtr& envelope) {
  envelope->flags |= core::Envelope::kFlagMakeRoom;
  auto sent = Deliver(worker, envelope);
  if (!sent) envelope->flags &= static_cast<std::uint8_t>(~core::Envelope::kFlagMakeRoom);
  return sent;
}

gen::Result<void> Runtime::RefusedByAll(Process& pool, gen::PID to) {
  PoolSlot& slot = *pool.pool_.load(std::memory_order_acquire);
  slot.rotation.Refused();
  NoteShortage(slot, to);
  return gen::ErrProcessMailboxFull;
}

void Runtime::NoteShortage(PoolSlot& slot, gen::PID to) {
  // Relaxed: the pool counts what was refused, it needs no message's content.
  if (slot.shortage.load(std::memory_order_relaxed) ||
      slot.shortage.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  core::EnvelopePtr notice = core::MakeSignal(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kShortage), core::Lane::kSystem);
  notice->from = Self().ToAddress();
  (void)Deliver(to, notice);  // a pool that is gone need not know
}

}  // namespace ergon::node
