// Exit signals whose link is gone.
#pragma once

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/exit_signal.h>
#include <ergon/gen/notices.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Returns whether a signal comes from a link that is gone, as when the receiver has unlinked the sender meanwhile.
// Takes the lock of the receiver's cold part. Any thread.
[[nodiscard]] bool IsStale(ProcessSlot& receiver, const core::Envelope& signal);

// Returns whether a link's exit signal belongs to the link of two PIDs; else its ref says to which of the others.
[[nodiscard]] inline bool IsOfPids(const core::Envelope& exit) {
  return core::IsType<gen::MessageExitPID>(exit.type) &&
         (exit.ref == 0 || exit.ref == gen::kChildExit);
}

}  // namespace ergon::node
