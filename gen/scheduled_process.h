// Which process a dispatcher's hooks are called for.
#pragma once

#include <ergon/core/schedulable.h>
#include <ergon/gen/process.h>

namespace ergon::gen {

// The process behind what a dispatcher runs; null if it is none. In core::DispatcherHooks::BeforeTurn
// its Self() and Name() may be asked for; after the turn the pointer is an identity, no more.
[[nodiscard]] Process* ProcessOf(core::Schedulable& schedulable);

}  // namespace ergon::gen
