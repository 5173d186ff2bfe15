// A worker's ring with an overflow queue behind it: strictly first in, first out for the owner, however long it gets. A
// thief can reach all of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <ergon/core/queues/overflow_queue.h>
#include <ergon/core/queues/run_queue.h>

namespace ergon::core {

template <std::uint32_t kCapacity = kRingCapacity>
class LocalQueue {
 public:
  // Owner only.
  void Push(Schedulable& schedulable) {
    // While there is an overflow, newcomers queue behind it: if they went into the ring, those in the overflow would
    // wait until the ring is empty, which on a busy worker is never.
    if (overflow_.ApproxSize() != 0 || !ring_.TryPush(schedulable)) [[unlikely]] {
      overflow_.Push(schedulable);
    }
  }

  // Owner only. nullptr if it is empty.
  Schedulable* Pop() {
    if (Schedulable* next = ring_.Pop()) return next;
    return overflow_.ApproxSize() == 0 ? nullptr : MoveOverflow(ring_);
  }

  // Called by the owner of `into`, another queue: takes half of the ring, or else a batch of the
  // overflow. Returns the oldest; nullptr if there was nothing.
  Schedulable* StealInto(LocalQueue& into) {
    if (Schedulable* next = ring_.StealInto(into.ring_)) return next;
    return overflow_.ApproxSize() == 0 ? nullptr : MoveOverflow(into.ring_);
  }

  // Any thread.
  std::size_t ApproxSize() const { return ring_.ApproxSize() + overflow_.ApproxSize(); }

  // Any thread; see RunQueue::Empty.
  bool Empty() const { return ring_.Empty() && overflow_.Empty(); }

 private:
  // Takes the lock once for many; `ring` is the caller's own.
  Schedulable* MoveOverflow(RunQueue<kCapacity>& ring) {
    std::array<Schedulable*, kCapacity / 2> batch;
    const std::size_t room =
        std::min<std::size_t>(batch.size(), std::size_t{ring.FreeForOwner()} + 1);
    const std::size_t count = overflow_.Pop(batch.data(), room);
    for (std::size_t i = 1; i < count; ++i) {
      [[maybe_unused]] const bool pushed = ring.TryPush(*batch[i]);  // has room for it
    }
    return count == 0 ? nullptr : batch[0];
  }

  RunQueue<kCapacity> ring_;
  alignas(64) OverflowQueue overflow_;
};

}  // namespace ergon::core
