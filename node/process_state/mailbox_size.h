// How many messages of normal priority may wait for a process, whatever the kind of its mailbox.
#pragma once

#include <cstdint>
#include <optional>

#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Sets it, in messages; 0: any number. What waits stays. Returns the size before; none, and nothing is changed, if the
// queue is a user's. Any thread, under the lock of Cold(), while ProcessSlot::IsStill.
[[nodiscard]] std::optional<std::uint32_t> SetMailboxSize(ProcessSlot& process,
                                                          std::uint32_t messages);

}  // namespace ergon::node
