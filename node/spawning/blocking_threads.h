// Threads for blocking stretches (gen::Blocking).
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/dispatcher.h>

namespace ergon::node {

class DedicatedDispatchers;

// Lends threads from the same store as for detached processes, and counts them. Any thread.
class BlockingThreads {
 public:
  BlockingThreads(DedicatedDispatchers& threads, int limit) : threads_(threads), limit_(limit) {}

  // Returns a thread with the options of `like`; null if all are lent, or the system has none left.
  [[nodiscard]] core::Dispatcher* Lend(const core::DispatcherOptions& like) noexcept;
  void TakeBack(core::Dispatcher& thread);

  [[nodiscard]] std::uint64_t lent() const { return lent_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  DedicatedDispatchers& threads_;
  const int limit_;
  std::atomic<int> in_use_{0};
  std::atomic<std::uint64_t> lent_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace ergon::node
