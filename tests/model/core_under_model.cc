// The parts of core that the models run, compiled against the shim.
#include "shim.h"

#include <ergon/core/foundations/language.cc>
#include <ergon/core/foundations/sync.cc>
#include <ergon/core/messages/await_state.cc>
#include <ergon/core/messages/dispatch_state.cc>
#include <ergon/core/messages/envelope.cc>
#include <ergon/core/messages/mailbox.cc>
#include <ergon/core/messages/mailbox_turn.cc>
#include <ergon/core/messages/rotation.cc>
#include <ergon/core/queues/idle_workers.cc>

namespace ergon::core {
// In a model no time passes: waits end when the explorer lets them.
int64_t SteadyNow() noexcept { return 0; }
}  // namespace ergon::core
