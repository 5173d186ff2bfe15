// How a behaviour with work of its own, a pool or a supervisor, calls its user's handlers.
#pragma once

#include <ergon/act/message_loop.h>

namespace ergon::act {

// As Dispatch. If the handler of a request stops the process, the caller gets "process terminated" at once:
// such a behaviour's end may take a while.
gen::Status CallUser(gen::ProcessHost& host, Callbacks& callbacks, core::Envelope& envelope);

}  // namespace ergon::act
