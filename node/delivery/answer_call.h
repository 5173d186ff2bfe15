// The short way of an answer: to a process of this node that waits in a Call.
#pragma once

#include <cstdint>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

// Answers the Call of `from` that waits with this id, and schedules the process. Returns false, and leaves the answer
// to the caller, if no process of this node waits so; Delivery::Respond does all else. Any thread.
[[nodiscard, gnu::always_inline]] inline bool AnswerCall(const Addresses& addresses, gen::PID from,
                                                         std::uint64_t id,
                                                         core::EnvelopePtr& answer) {
  const bool is_process = from.node == addresses.node() && from.id != Addresses::kNodeId;
  ProcessSlot* const process = is_process ? addresses.table().Find(from.id) : nullptr;
  if (process == nullptr || IsRequestId(id)) [[unlikely]]
    return false;
  // No look at the generation: the id is unique, so a later process in the slot never waits for it.
  const core::CompleteOutcome outcome = process->await().Complete(id, answer.get());
  if (outcome == core::CompleteOutcome::kIgnored) [[unlikely]]
    return false;
  (void)answer.release();
  if (outcome == core::CompleteOutcome::kMustSchedule) process->Schedule();
  return true;
}

}  // namespace ergon::node
