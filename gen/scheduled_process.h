// Which process a dispatcher's hooks are called for.
#pragma once

#include <ergon/core/schedulable.h>
#include <ergon/gen/process.h>

namespace ergon::gen {

// Returns the process behind what a dispatcher runs; null if it is not a process. In core::DispatcherHooks::BeforeTurn
// its Self() and Name() may be called; after the turn the pointer is only an identity.
[[nodiscard]] Process* ProcessOf(core::Schedulable& schedulable);

}  // namespace ergon::gen
