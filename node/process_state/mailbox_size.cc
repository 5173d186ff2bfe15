#include <ergon/node/process_state/mailbox_size.h>

#include <ergon/node/process_state/cold.h>
#include <ergon/node/process_state/queue_lane.h>

namespace ergon::node {

std::optional<std::uint32_t> SetMailboxSize(ProcessSlot& process, std::uint32_t messages) {
  gen::Mailbox& kind = process.Cold().mailbox;
  if (kind.IsCustom()) return std::nullopt;
  std::uint32_t before = process.mailbox().capacity();
  if (kind.HasQueue()) {
    before = static_cast<std::uint32_t>(kind.bound());
    if (QueueLane* const lane = process.GetQueueLane()) lane->SetBound(messages);
  } else {
    process.mailbox().SetCapacity(messages);
  }
  if (kind.IsChosen()) kind.SetBound(static_cast<int>(messages));
  return before;
}

}  // namespace ergon::node
