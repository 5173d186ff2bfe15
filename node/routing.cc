// How a message for a pool gets to one of its workers, in the thread of its sender.
#include <ergon/node/runtime.h>

namespace ergon::node {

gen::Result<void> Runtime::Route(Process& pool, gen::PID to, core::EnvelopePtr& envelope) {
  QueueLane* lane = pool.GetQueueLane();
  if (lane != nullptr && lane->IsOf(GenerationOf(to))) return Enqueue(pool, *lane, to, envelope);
  PoolSlot* slot = pool.pool_.load(std::memory_order_acquire);  // partner: Process::GetPoolSlot
  if (slot == nullptr) return gen::ErrProcessTerminated;
  if (slot->refuses.load(std::memory_order_acquire)) return gen::ErrProcessTerminated;
  core::Rotation& rotation = slot->rotation;
  bool found_gone = false;
  bool found_self = false;
  const std::uint32_t tries = rotation.size();
  for (std::uint32_t i = 0; i < tries; ++i) {
    const std::uint64_t worker = rotation.Next();
    // The slot may have a new process by now, and the rotation may be a new pool's.
    if (pool.generation_.load(std::memory_order_acquire) != GenerationOf(to)) {
      rotation.Skipped();
      return gen::ErrProcessTerminated;
    }
    // Acquire, after the look at the rotation; partner: Process::SetRotationOpen.
    if (worker == 0 || !slot->open.load(std::memory_order_acquire)) {
      rotation.Skipped();
      found_gone = true;
      break;
    }
    if (worker == envelope->from.id &&
        static_cast<gen::EnvelopeKind>(envelope->kind) == gen::EnvelopeKind::kRequest) {
      rotation.Skipped();  // a worker that calls its own pool must not wait for itself
      found_self = true;
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
  if (tries != 0 && !found_gone && !found_self && AllFull(pool, *slot, to, envelope)) return {};
  if (found_self && tries == 1) {
    return gen::Error(gen::ErrorCode::kDeadlock,
                      "the pool's only worker calls its own pool: it would wait for itself");
  }
  if (tries != 0 && !found_gone) return RefusedByAll(pool, to);
  if (Process::IsRequest(*envelope)) RedirectCall(to, *envelope);
  // Workers are being replaced: the pool keeps the message until there is one.
  envelope->generation = GenerationOf(to);
  return Accept(pool, to, pool.mailbox_.PushAndAccept(envelope.get()), envelope);
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
  std::int64_t last = slot.last_refusal_log.load(std::memory_order_relaxed);
  const std::int64_t now = clock_->CoarseNow();
  constexpr std::int64_t kSecond = 1'000'000'000;
  if ((last == 0 || now - last >= kSecond) &&
      slot.last_refusal_log.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
    Log().Warning("pool {}: all workers' mailboxes are full, senders get errors", to);
  }
  return gen::ErrProcessMailboxFull;
}

}  // namespace ergon::node
