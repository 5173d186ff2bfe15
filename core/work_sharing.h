// One queue for all workers, strictly first come, first served. With one worker: a thread of its
// own for a process whose code blocks.
#pragma once

#include <memory>

#include <ergon/core/dispatcher.h>

namespace ergon::core {

std::unique_ptr<Dispatcher> MakeWorkSharing(DispatcherOptions options);

}  // namespace ergon::core
