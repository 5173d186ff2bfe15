#include <memory>
#include <mutex>

#include <ergon/core/turns/fiber_cache.h>

namespace ergon::core {

FiberPool::FiberPool(std::size_t stack_bytes, Fiber::Body body, std::size_t max_cached)
    : stack_bytes_(stack_bytes), body_(body), max_cached_(max_cached) {}

FiberPool::~FiberPool() {
  while (Fiber* fiber = live_) {
    live_ = fiber->next_live_;
    delete fiber;
  }
}

Fiber* FiberPool::CreateFiber() {
  Fiber* fiber = Fiber::Create(stack_bytes_, body_).release();
  if (fiber == nullptr) return nullptr;
  std::lock_guard guard(lock_);
  fiber->next_live_ = live_;
  if (live_ != nullptr) live_->previous_live_ = fiber;
  live_ = fiber;
  return fiber;
}

Fiber* FiberPool::Take(std::size_t count) {
  {
    std::lock_guard guard(lock_);
    if (Fiber* first = cached_) {
      Fiber* last = first;
      std::size_t taken = 1;
      while (taken < count && last->next_cached_ != nullptr) {
        last = last->next_cached_;
        ++taken;
      }
      cached_ = last->next_cached_;
      cached_count_ -= taken;
      last->next_cached_ = nullptr;
      return first;
    }
  }
  return CreateFiber();
}

void FiberPool::Put(Fiber* chain) {
  Fiber* surplus = nullptr;
  {
    std::lock_guard guard(lock_);
    while (chain != nullptr) {
      Fiber* fiber = chain;
      chain = fiber->next_cached_;
      if (cached_count_ < max_cached_) {
        fiber->next_cached_ = cached_;
        cached_ = fiber;
        ++cached_count_;
        continue;
      }
      (fiber->previous_live_ != nullptr ? fiber->previous_live_->next_live_ : live_) =
          fiber->next_live_;
      if (fiber->next_live_ != nullptr) fiber->next_live_->previous_live_ = fiber->previous_live_;
      fiber->next_cached_ = surplus;
      surplus = fiber;
    }
  }
  // Unmapping takes microseconds: not under the lock.
  while (surplus != nullptr) {
    std::unique_ptr<Fiber> fiber(surplus);
    surplus = fiber->next_cached_;
  }
}

bool FiberCache::Refill() {
  Fiber* chain = pool_.Take(kBatch);
  while (chain != nullptr) {
    Fiber* fiber = chain;
    chain = fiber->next_cached_;
    fiber->next_cached_ = first_;
    first_ = fiber;
    ++count_;
  }
  return first_ != nullptr;
}

// Keeps the fibers used last: their stacks are warm.
void FiberCache::Spill() {
  Fiber* last_kept = first_;
  for (std::size_t i = 1; i < kMax - kBatch; ++i) last_kept = last_kept->next_cached_;
  Fiber* chain = last_kept->next_cached_;
  last_kept->next_cached_ = nullptr;
  count_ = kMax - kBatch;
  pool_.Put(chain);
}

void FiberCache::Flush() {
  Fiber* chain = first_;
  first_ = nullptr;
  count_ = 0;
  if (chain != nullptr) pool_.Put(chain);
}

}  // namespace ergon::core
