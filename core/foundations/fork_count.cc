#include <ergon/core/foundations/fork_count.h>

#include <pthread.h>

#include <ergon/core/messages/envelope_pool.h>

namespace ergon::core {

void WatchForks() {
  // What another thread has locked in the moment of the fork stays locked in the child for ever.
  [[maybe_unused]] static const int kDone =
      pthread_atfork([] { LockEnvelopePool(); }, [] { UnlockEnvelopePool(); },
                     [] {
                       UnlockEnvelopePool();
                       detail::fork_count.fetch_add(1, std::memory_order_relaxed);
                     });
}

}  // namespace ergon::core
