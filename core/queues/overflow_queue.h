// What does not fit into a worker's ring: first in, first out, under a spin lock.
//
// Blocks of pointers, not a list through the schedulables. Those have left the caches by the time they are taken, and
// who takes hundreds of them under the lock would wait for the memory of each.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include <ergon/core/foundations/sync.h>
#include <ergon/core/queues/injection_queue.h>

namespace ergon::core {

// All functions may be called from any thread.
class OverflowQueue {
 public:
  static constexpr std::size_t kBlockHolds = 509;  // with what else is in it, 4 KiB

  OverflowQueue() = default;
  OverflowQueue(const OverflowQueue&) = delete;
  OverflowQueue& operator=(const OverflowQueue&) = delete;
  ~OverflowQueue() {
    while (first_ != nullptr) delete std::exchange(first_, first_->next);
    delete spare_;
  }

  void Push(Schedulable& schedulable) noexcept {
    std::lock_guard guard(lock_);
    // Behind those for which there was no memory, if there are such.
    if (listed_.ApproxSize() != 0 || !TryAppend(schedulable)) [[unlikely]]
      listed_.Push(schedulable);
    // seq_cst: the producer's half of the protocol in idle_workers.h
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }

  // Pops up to `max` of the oldest, at least one if there is one. Returns how many.
  std::size_t Pop(Schedulable** batch, std::size_t max) noexcept {
    if (ApproxSize() == 0) return 0;  // without touching the lock
    std::lock_guard guard(lock_);
    const std::size_t count =
        first_ != nullptr ? TakeFromBlock(batch, max) : listed_.Pop(batch, max);
    size_.store(size_.load(std::memory_order_relaxed) - count, std::memory_order_relaxed);
    return count;
  }

  std::size_t ApproxSize() const noexcept { return size_.load(std::memory_order_relaxed); }

  // Returns whether the queue is empty. As RunQueue::Empty, the sleeper's half of the protocol in idle_workers.h.
  bool Empty() const noexcept { return size_.load(std::memory_order_seq_cst) == 0; }

 private:
  struct Block {
    Block* next = nullptr;
    std::size_t taken = 0;
    std::size_t count = 0;
    std::array<Schedulable*, kBlockHolds> entries;  // from `taken` to `count`
  };
  static_assert(sizeof(Block) == 4096);

  // All of these with the lock.
  bool TryAppend(Schedulable& schedulable) noexcept {
    if (last_ == nullptr || last_->count == kBlockHolds) {
      Block* const block = MakeBlock();
      if (block == nullptr) return false;
      (last_ != nullptr ? last_->next : first_) = block;
      last_ = block;
    }
    last_->entries[last_->count++] = &schedulable;
    return true;
  }

  Block* MakeBlock() noexcept {
    if (spare_ == nullptr) return new (std::nothrow) Block;
    return new (std::exchange(spare_, nullptr)) Block;
  }

  std::size_t TakeFromBlock(Schedulable** batch, std::size_t max) noexcept {
    Block* const block = first_;
    const std::size_t count = std::min(max, block->count - block->taken);
    std::copy_n(block->entries.begin() + static_cast<std::ptrdiff_t>(block->taken), count, batch);
    block->taken += count;
    if (block->taken == block->count) {
      first_ = block->next;
      if (first_ == nullptr) last_ = nullptr;
      delete std::exchange(spare_, block);
    }
    return count;
  }

  SpinLock lock_;
  std::atomic<std::size_t> size_{0};  // written under lock_, read by anybody
  // Guarded by lock_.
  Block* first_ = nullptr;  // a block has at least one entry
  Block* last_ = nullptr;
  Block* spare_ = nullptr;
  InjectionQueue listed_;  // when there was no memory for a block: later than what is in blocks
};

}  // namespace ergon::core
