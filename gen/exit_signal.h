// The reason of an exit signal.
#pragma once

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/reason.h>

namespace ergon::gen {

// Returns the reason of an exit signal: of a process, a name, an alias or an event. Null: it is not an exit signal.
[[nodiscard]] const Reason* ReasonOfExit(const core::Envelope& envelope) noexcept;

}  // namespace ergon::gen
