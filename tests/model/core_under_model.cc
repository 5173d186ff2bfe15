// The parts of core that the models run, compiled against the shim.
#include "shim.h"

#include <ergon/core/await_state.cc>
#include <ergon/core/dispatch_state.cc>
#include <ergon/core/envelope.cc>
#include <ergon/core/idle_workers.cc>
#include <ergon/core/mailbox.cc>
#include <ergon/core/rotation.cc>
#include <ergon/core/sync.cc>
