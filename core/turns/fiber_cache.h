// Suspended fibers kept for the next turn that parks: a few for each worker without any lock, more
// in a bounded pool that the workers of a dispatcher share.
#pragma once

#include <cstddef>

#include <ergon/core/foundations/sync.h>
#include <ergon/core/turns/fiber.h>

namespace ergon::core {

// Owns all fibers of a dispatcher. Any thread.
class FiberPool {
 public:
  // Keeps at most `max_cached` fibers, and unmaps further fibers that are returned.
  FiberPool(std::size_t stack_bytes, Fiber::Body body, std::size_t max_cached);
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;
  // Unmaps all of its fibers, the parked ones too.
  ~FiberPool();

 private:
  friend class FiberCache;

  // Returns a chain of 1 to `count` fibers (a single new one if none is cached); nullptr if there is no memory.
  Fiber* Take(std::size_t count);
  // Takes a chain back.
  void Put(Fiber* chain);
  Fiber* CreateFiber();

  const std::size_t stack_bytes_;
  const Fiber::Body body_;
  const std::size_t max_cached_;
  SpinLock lock_;
  Fiber* cached_ = nullptr;  // guarded by lock_, as all below
  std::size_t cached_count_ = 0;
  Fiber* live_ = nullptr;  // every fiber that exists, wherever it is
};

// A worker's own cache; only the worker may call its functions.
class FiberCache {
 public:
  explicit FiberCache(FiberPool& pool) : pool_(pool) {}
  FiberCache(const FiberCache&) = delete;
  FiberCache& operator=(const FiberCache&) = delete;
  ~FiberCache() { Flush(); }

  // Returns a fiber, or nullptr if no stack is available.
  [[nodiscard]] Fiber* Get() {
    if (first_ == nullptr && !Refill()) [[unlikely]]
      return nullptr;
    Fiber* fiber = first_;
    first_ = fiber->next_cached_;
    --count_;
    return fiber;
  }

  void Put(Fiber& fiber) {
    fiber.next_cached_ = first_;
    first_ = &fiber;
    if (++count_ > kMax) [[unlikely]]
      Spill();
  }

  // Makes sure that the next Get succeeds. Returns false if no stack is available.
  [[nodiscard]] bool Prepare() { return first_ != nullptr || Refill(); }
  // Gives all fibers to the pool.
  void Flush();

 private:
  static constexpr std::size_t kMax = 64;
  static constexpr std::size_t kBatch = kMax / 2;

  bool Refill();
  void Spill();

  FiberPool& pool_;
  Fiber* first_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace ergon::core
