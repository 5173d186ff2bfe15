// An unbounded first-in-first-out queue under a spin lock, linked through the schedulables themselves: for what threads
// that are not workers schedule, and for what an overflow queue has no memory for.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include <ergon/core/foundations/sync.h>
#include <ergon/core/schedulable.h>

namespace ergon::core {

// All functions may be called from any thread.
class InjectionQueue {
 public:
  InjectionQueue() = default;
  InjectionQueue(const InjectionQueue&) = delete;
  InjectionQueue& operator=(const InjectionQueue&) = delete;

  void Push(Schedulable& schedulable) {
    Schedulable* one = &schedulable;
    Push(&one, 1);
  }

  // Pushes a batch, in its order.
  void Push(Schedulable* const* batch, std::size_t count) {
    if (count == 0) return;
    for (std::size_t i = 0; i + 1 < count; ++i) batch[i]->next_in_queue_ = batch[i + 1];
    batch[count - 1]->next_in_queue_ = nullptr;
    std::lock_guard guard(lock_);
    (last_ != nullptr ? last_->next_in_queue_ : first_) = batch[0];
    last_ = batch[count - 1];
    // seq_cst: the producer's half of the protocol in idle_workers.h
    size_.store(size_.load(std::memory_order_relaxed) + count, std::memory_order_seq_cst);
  }

  // Pops the oldest; nullptr if the queue is empty.
  Schedulable* Pop() {
    Schedulable* one = nullptr;
    Pop(&one, 1);
    return one;
  }

  // Pops up to `max` of the oldest. Returns how many.
  std::size_t Pop(Schedulable** batch, std::size_t max) {
    if (ApproxSize() == 0) return 0;  // without touching the lock
    std::lock_guard guard(lock_);
    std::size_t count = 0;
    for (; count < max && first_ != nullptr; ++count) {
      batch[count] = first_;
      first_ = first_->next_in_queue_;
    }
    if (first_ == nullptr) last_ = nullptr;
    size_.store(size_.load(std::memory_order_relaxed) - count, std::memory_order_relaxed);
    return count;
  }

  std::size_t ApproxSize() const { return size_.load(std::memory_order_relaxed); }

  // Returns whether the queue is empty. As RunQueue::Empty, the sleeper's half of the protocol in idle_workers.h.
  bool Empty() const { return size_.load(std::memory_order_seq_cst) == 0; }

 private:
  SpinLock lock_;
  std::atomic<std::size_t> size_{0};  // written under lock_, read by anybody
  Schedulable* first_ = nullptr;      // guarded by lock_
  Schedulable* last_ = nullptr;       // guarded by lock_
};

}  // namespace ergon::core
