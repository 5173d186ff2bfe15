// What exit signals have in common.
#pragma once

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/reason.h>

namespace ergon::gen {

// The reason of an exit signal: of a process, a name, an alias or an event. Null: it is none.
[[nodiscard]] const Reason* ReasonOfExit(const core::Envelope& envelope) noexcept;

}  // namespace ergon::gen
