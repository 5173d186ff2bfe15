// The inspection of a process that adds no keys of its own.
#pragma once

#include <ergon/gen/host/process_host.h>
#include <ergon/gen/messenger.h>

namespace ergon::act {

// Returns the fields of gen::ProcessInfo that say something, as texts, for behaviours that have nothing else to
// tell. A list has its first 100 elements and the number of the others; of the environment there are the names, not the
// values, which may be secrets. Empty where there is no node, as in a testkit::Unit.
[[nodiscard]] gen::Inspection ProcessItems(const gen::ProcessHost& host);

}  // namespace ergon::act
