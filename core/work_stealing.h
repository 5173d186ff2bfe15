// The default policy: a queue per worker, and workers without work take from the others.
#pragma once

#include <memory>

#include <ergon/core/dispatcher.h>

namespace ergon::core {

std::unique_ptr<Dispatcher> MakeWorkStealing(DispatcherOptions options);

}  // namespace ergon::core
