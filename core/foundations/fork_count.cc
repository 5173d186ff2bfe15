#include <ergon/core/foundations/fork_count.h>

#include <pthread.h>

namespace ergon::core {

void WatchForks(void (*lock)(), void (*unlock)(), void (*unlock_in_child)()) {
  static void (*const kUnlock)() = unlock_in_child;
  [[maybe_unused]] static const int kDone = pthread_atfork(lock, unlock, [] {
    kUnlock();
    detail::fork_count.fetch_add(1, std::memory_order_relaxed);
  });
}

}  // namespace ergon::core
