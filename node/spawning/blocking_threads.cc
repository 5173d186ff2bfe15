#include <ergon/node/spawning/blocking_threads.h>

#include <exception>

#include <ergon/node/spawning/dedicated_dispatchers.h>

namespace ergon::node {

core::Dispatcher* BlockingThreads::Lend(const core::DispatcherOptions& like) noexcept {
  if (in_use_.fetch_add(1, std::memory_order_relaxed) < limit_) {
    try {
      if (auto thread = threads_.TakeFree(like)) {
        lent_.fetch_add(1, std::memory_order_relaxed);
        return *thread;
      }
    } catch (const std::exception&) {
      // No memory: as if there were no thread.
    }
  }
  in_use_.fetch_sub(1, std::memory_order_relaxed);
  refused_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void BlockingThreads::TakeBack(core::Dispatcher& thread) {
  in_use_.fetch_sub(1, std::memory_order_relaxed);
  threads_.Give(thread);
}

}  // namespace ergon::node
