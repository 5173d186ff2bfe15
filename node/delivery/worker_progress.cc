// What the workers of a pool have to do, and how far they are.
#include <algorithm>

#include <ergon/core/foundations/mix.h>
#include <ergon/node/delivery/delivery.h>

namespace ergon::node {

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
  if (!process->mailbox().IsRedirected() && !process->mailbox().IsMainRefused()) return load;
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
  // Also a mailbox with an order of its own is redirected.
  if (process->IsPool() && process->mailbox().IsRedirected()) {
    return WaitAtPool(process->pool()->rotation);
  }
  std::int64_t each = process->Rare().TimeForEach();
  // A new worker will take as long as another.
  for (std::uint32_t i = 0; each == 0 && i < rotation.size(); ++i) {
    const ProcessSlot* other = needs_.addresses.Find(needs_.addresses.PidOf(rotation.At(i)));
    if (other != nullptr) each = other->Rare().TimeForEach();
  }
  return static_cast<std::int64_t>(process->LoadApprox()) * each;
}

std::int64_t Delivery::WaitAtPool(const core::Rotation& rotation) const {
  std::int64_t sum = 0;
  std::int64_t alive = 0;
  for (std::uint32_t i = 0; i < rotation.size(); ++i) {
    const std::int64_t wait = WaitAt(rotation, rotation.At(i));
    if (wait == INT64_MAX) continue;
    sum += wait;
    ++alive;
  }
  return alive == 0 ? INT64_MAX : sum / alive;
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
    progress.dropped = slot->Rare().routed_unstashed.Read() +
                       slot->Rare().routed_overflowed.load(std::memory_order_relaxed);
    const std::uint64_t in_mailbox = slot->MainMessagesApprox();
    progress.has_mail = in_mailbox != 0;
    progress.queued = in_mailbox + slot->AsideApprox();
    progress.busy = slot->activity().IsInHandler();
    if (slot->mailbox().TakenApprox() == taken) break;
    progress.busy = true;
  }
  progress.passed = progress.handled;
  progress.pace = std::chrono::nanoseconds(slot->Rare().work_pace.Mean());
  // A pool that is a worker of another has handled what its own workers have, and what has come to its end
  // there otherwise: that is its own affair, with its own counters.
  if (const PoolSlot* pool = slot->pool()) {
    progress.passes_on = slot->IsPool();
    progress.handled += pool->Settled();
    AddWorkersOf(*pool, progress);
  }
  progress.expired = slot->Rare().routed_expired.Read();
  // After `handled`, so that it is seen when what was put back has been handled.
  progress.stash_changes = slot->Rare().unstashings.Read();
  if (slot->IsPool()) progress.stash_changes += progress.passed;
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
