// The inspection of a process that adds no keys of its own.
#pragma once

#include <ergon/gen/host/process_host.h>
#include <ergon/gen/messenger.h>

namespace ergon::act {

// Returns the fields of gen::ProcessInfo that say something, as texts, for behaviours that have nothing else to
// tell. Empty where there is no node, as in a testkit::Unit.
[[nodiscard]] gen::Inspection ProcessItems(const gen::ProcessHost& host);

}  // namespace ergon::act
