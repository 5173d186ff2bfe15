#include <ergon/node/delivery/back_pressure.h>

#include <memory>
#include <mutex>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/envelope_kind.h>

namespace ergon::node {
namespace {

// Null: nobody has ever waited there.
WaitingSenders* WaitingAt(const ProcessSlot& slot) {
  const ProcessCold* const cold = slot.ColdIfAny();
  // Acquire; partner: GetWaiting.
  return cold == nullptr ? nullptr : cold->waiting_senders.load(std::memory_order_acquire);
}

WaitingSenders& GetWaiting(const ProcessSlot& slot) {
  if (WaitingSenders* const waiting = WaitingAt(slot)) return *waiting;
  auto fresh = std::make_unique<WaitingSenders>();
  WaitingSenders* found = nullptr;
  if (slot.Cold().waiting_senders.compare_exchange_strong(found, fresh.get(),
                                                          std::memory_order_acq_rel)) {
    return *fresh.release();
  }
  return *found;
}

// With the lock of the queue, which the sender has left.
void Tell(WaitingSender& sender, gen::Result<void> outcome) {
  sender.outcome = std::move(outcome);
  sender.is_served = true;
  sender.Wake();
}

}  // namespace

bool BackPressure::HasWaiting(const ProcessSlot& slot) {
  WaitingSenders* const waiting = WaitingAt(slot);
  if (waiting == nullptr) return false;
  std::lock_guard lock(waiting->mutex);
  return !waiting->queue.empty();
}

gen::Result<void> BackPressure::TryDeliver(gen::PID to, core::EnvelopePtr& envelope,
                                           bool may_wait) {
  ProcessSlot* const slot = addresses_.FindSlot(to);
  // Those of priority find room always.
  const bool needs_room = slot != nullptr && envelope->lane == core::Lane::kMain;
  if (needs_room && HasWaiting(*slot)) {
    if (!may_wait) delivery_.CountRefused(to);
    return gen::ErrProcessMailboxFull;
  }
  return may_wait ? delivery_.DeliverForWaiting(to, envelope) : delivery_.Deliver(to, envelope);
}

void BackPressure::Enter(WaitingSender& sender) {
  ProcessSlot& slot = *addresses_.FindSlot(sender.to);  // its mailbox was full
  const gen::PID to = sender.to;
  WaitingSenders& waiting = GetWaiting(slot);
  {
    std::lock_guard lock(waiting.mutex);
    sender.is_served = false;
    waiting.queue.push_back(&sender);
  }
  try {
    Ask(slot, to);
  } catch (...) {
    if (Leave(sender)) throw;
    return;  // it has been served meanwhile
  }
  // The receiver may have made room before it was asked, and its handler may last: nobody else would look. (Of one that
  // makes room just now, its handler's end is waited for.)
  try {
    (void)ServeQueue(slot);
  } catch (...) {  // no memory: the receiver has been asked, and looks, too
  }
}

bool BackPressure::Leave(WaitingSender& sender) {
  WaitingSenders& waiting = GetWaiting(*addresses_.FindSlot(sender.to));
  // Also for the one who has been served: Wake is over then.
  std::lock_guard lock(waiting.mutex);
  if (sender.is_served || std::erase(waiting.queue, &sender) == 0) return false;
  delivery_.CountRefused(sender.to);
  return true;
}

bool BackPressure::Serve(ProcessSlot& slot) {
  if (!ServeQueues(slot)) {
    if (slot.IsPool()) AskWorkers(slot);  // there may be new ones
    return true;
  }
  std::atomic<bool>& asked = GetWaiting(slot).asked;
  (void)asked.exchange(false, std::memory_order_acq_rel);
  for (ProcessSlot* other = &slot; other != nullptr; other = PoolOf(*other)) {
    if (!HasWaiting(*other)) continue;
    (void)asked.exchange(true, std::memory_order_acq_rel);
    return true;
  }
  return false;
}

void BackPressure::End(ProcessSlot& slot) {
  WaitingSenders* const waiting = WaitingAt(slot);
  if (waiting == nullptr) return;
  (void)waiting->asked.exchange(false, std::memory_order_acq_rel);
  (void)ServeQueue(slot);
}

bool BackPressure::ServeQueues(ProcessSlot& slot) {
  bool all = true;
  for (ProcessSlot* other = &slot; other != nullptr; other = PoolOf(*other)) {
    if (!ServeQueue(*other)) all = false;
  }
  return all;
}

bool BackPressure::ServeQueue(ProcessSlot& slot) {
  WaitingSenders* const waiting = WaitingAt(slot);
  if (waiting == nullptr) return true;
  const LateDrops late_drops = delivery_.DropLate();  // not under the lock: values are destroyed
  std::lock_guard lock(waiting->mutex);
  while (!waiting->queue.empty()) {
    WaitingSender& sender = *waiting->queue.front();
    auto sent = delivery_.DeliverForWaiting(sender.to, sender.envelope);
    if (!sent && sent.error() == gen::ErrProcessMailboxFull) {
      RefuseOnlyWorker(slot, *waiting);
      return waiting->queue.empty();
    }
    waiting->queue.pop_front();
    Tell(sender, std::move(sent));
  }
  return true;
}

void BackPressure::RefuseOnlyWorker(const ProcessSlot& pool, WaitingSenders& waiting) const {
  const PoolSlot* const pool_slot = pool.IsPool() ? pool.pool() : nullptr;
  if (pool_slot == nullptr || pool_slot->rotation.size() != 1) return;
  const gen::PID worker = addresses_.PidOf(pool_slot->rotation.At(0));
  std::erase_if(waiting.queue, [&](WaitingSender* sender) {
    if (gen::PID::FromAddress(sender->envelope->from) != worker) return false;
    Tell(*sender, WouldWaitForItself(worker, sender->to));
    return true;
  });
}

gen::Error BackPressure::WouldWaitForItself(gen::PID worker, gen::PID pool) {
  return gen::Error(
      gen::ErrorCode::kDeadlock,
      fmt::format("{} would wait for room in its own mailbox: it is the only worker of {}", worker,
                  pool));
}

ProcessSlot* BackPressure::PoolOf(const ProcessSlot& worker) const {
  ProcessSlot* const parent = addresses_.Find(addresses_.PidOf(worker.parent_id()));
  return parent != nullptr && parent->IsPool() ? parent : nullptr;
}

void BackPressure::Ask(ProcessSlot& slot, gen::PID pid) {
  WaitingSenders& waiting = GetWaiting(slot);
  // Acquire is enough: who asks has entered the queue before, under its lock, which the receiver takes when it has
  // cleared the flag. So either this sees that, or the receiver sees who has entered.
  if (!waiting.asked.load(std::memory_order_acquire)) {
    core::EnvelopePtr signal = core::MakeSignal(  // may throw: before it is noted
        static_cast<std::uint8_t>(gen::EnvelopeKind::kRoomWanted), core::Lane::kSystem);
    signal->from = addresses_.NodePid().ToAddress();
    if (!waiting.asked.exchange(true, std::memory_order_acq_rel) &&
        !delivery_.Deliver(pid, signal)) {
      // It has ended, maybe before End could see the sender. Who waits for the slot's next process is told later.
      (void)waiting.asked.exchange(false, std::memory_order_acq_rel);
      if (ServeQueue(slot)) return;
      const gen::PID now = addresses_.PidOf(slot.Id());
      if (now != pid) Ask(slot, now);
      return;
    }
  }
  if (slot.IsPool()) AskWorkers(slot);
}

void BackPressure::AskWorkers(ProcessSlot& pool) {
  const PoolSlot* const pool_slot = pool.pool();
  for (std::uint32_t i = 0; pool_slot != nullptr && i < pool_slot->rotation.size(); ++i) {
    const gen::PID pid = addresses_.PidOf(pool_slot->rotation.At(i));
    ProcessSlot* const worker = addresses_.Find(pid);
    if (worker != nullptr) Ask(*worker, pid);
  }
}

}  // namespace ergon::node
