// A worker's queue: a lock-free ring of fixed size with one producer, after the run queues of Go
// (runtime/proc.go) and tokio.
//
// Only the owner pushes. The owner pops one, and any other worker steals half, by moving `head_` on
// with a compare-and-swap. A thief reads the entries first; if the owner or another thief was
// faster, the exchange fails and what was read is thrown away. So entries are atomics (the losing
// thief may read one while the owner overwrites it), and indices only grow (they wrap after 2^32
// entries).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ergon/core/schedulable.h>

namespace ergon::core {

// How many processes may wait in a worker's queue before it needs a lock. Their addresses take 8 KiB.
inline constexpr std::uint32_t kRingCapacity = 1024;

template <std::uint32_t kCapacity = kRingCapacity>
class RunQueue {
 public:
  static_assert(kCapacity >= 2 && (kCapacity & (kCapacity - 1)) == 0, "must be a power of two");

  RunQueue() = default;
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // Owner only. Returns false if the queue is full.
  [[nodiscard]] bool TryPush(Schedulable& schedulable) {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    // acquire pairs with the release of the exchange in Steal: the thief has read the entry that is
    // overwritten here
    if (tail - head_.load(std::memory_order_acquire) >= kCapacity) return false;
    entries_[tail % kCapacity].store(&schedulable, std::memory_order_relaxed);
    // Publishes the entry (as a release, to the acquires in Steal), and is the producer's half of
    // the protocol in idle_workers.h: hence seq_cst.
    tail_.store(tail + 1, std::memory_order_seq_cst);
    return true;
  }

  // Owner only. nullptr if it is empty.
  Schedulable* Pop() {
    std::uint32_t head = head_.load(std::memory_order_relaxed);
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    while (head != tail) {
      Schedulable* entry = entries_[head % kCapacity].load(std::memory_order_relaxed);
      // relaxed: the owner reads what it wrote itself
      if (head_.compare_exchange_weak(head, head + 1, std::memory_order_relaxed)) return entry;
    }
    return nullptr;
  }

  // Called by the owner of `into`, another queue. Takes the older half (rounded up): the oldest is
  // returned, the others are pushed to `into`. nullptr if there was nothing.
  template <std::uint32_t kOtherCapacity>
  Schedulable* StealInto(RunQueue<kOtherCapacity>& into) {
    std::array<Schedulable*, kCapacity / 2> stolen;
    for (;;) {
      std::uint32_t head = head_.load(std::memory_order_acquire);
      // acquire pairs with the store in TryPush: the entries are visible
      const std::uint32_t tail = tail_.load(std::memory_order_acquire);
      const std::uint32_t length = tail - head;
      if (length == 0) return nullptr;
      // `head_` has moved on between the two loads; or this tail is older than the head, which the owner moves by a
      // relaxed store.
      if (length > kCapacity) continue;
      const std::uint32_t count =
          std::min({length - length / 2, into.FreeForOwner() + 1, kCapacity / 2});
      for (std::uint32_t i = 0; i < count; ++i) {
        stolen[i] = entries_[(head + i) % kCapacity].load(std::memory_order_relaxed);
      }
      // release pairs with the acquire in TryPush: the entries have been read
      if (!head_.compare_exchange_strong(head, head + count, std::memory_order_acq_rel,
                                         std::memory_order_relaxed)) {
        continue;
      }
      for (std::uint32_t i = 1; i < count; ++i) {
        // Cannot be full: only this worker pushes, and the room was there before.
        [[maybe_unused]] const bool pushed = into.TryPush(*stolen[i]);
      }
      return stolen[0];
    }
  }

  // Owner only. Returns for how many pushes there is room at least.
  std::uint32_t FreeForOwner() const {
    return kCapacity -
           (tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed));
  }

  // Any thread.
  std::size_t ApproxSize() const {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    const std::uint32_t length = tail_.load(std::memory_order_relaxed) - head;
    return length > kCapacity ? 0 : length;  // `head_` moved on between the two loads
  }

  // Any thread. An entry whose push comes before this call in the order of all seq_cst operations, and that no thread
  // has taken, is seen: the sleeper's half of the protocol in idle_workers.h.
  bool Empty() const {
    const std::uint32_t head = head_.load(std::memory_order_seq_cst);
    return head == tail_.load(std::memory_order_seq_cst);
  }

 private:
  alignas(64) std::atomic<std::uint32_t> head_{0};  // next to take; moved by all workers
  alignas(64) std::atomic<std::uint32_t> tail_{0};  // next to fill; moved by the owner
  std::array<std::atomic<Schedulable*>, kCapacity> entries_{};
};

}  // namespace ergon::core
