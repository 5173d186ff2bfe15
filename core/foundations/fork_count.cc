#include <ergon/core/foundations/fork_count.h>

#include <pthread.h>

namespace ergon::core {

void WatchForks(void (*lock)(), void (*unlock)()) {
  static void (*const kUnlock)() = unlock;
  [[maybe_unused]] static const int kDone = pthread_atfork(lock, unlock, [] {
    kUnlock();
    detail::fork_count.fetch_add(1, std::memory_order_relaxed);
  });
}

}  // namespace ergon::core
