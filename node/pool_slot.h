// What makes a slot the address of a pool. Belongs to the slot and is never freed while the node
// lives: a late sender may still read it.
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/rotation.h>

namespace ergon::node {

struct PoolSlot {
  core::Rotation rotation;
  std::atomic<bool> refuses{false};               // the pool is ending
  std::atomic<std::int64_t> last_refusal_log{0};  // Clock ns; one line per second at most

  // For the slot's next process.
  void Reset() noexcept {
    rotation.Reset();
    refuses.store(false, std::memory_order_relaxed);
    last_refusal_log.store(0, std::memory_order_relaxed);
  }
};

}  // namespace ergon::node
