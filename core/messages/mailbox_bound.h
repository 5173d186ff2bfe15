// The largest bound of a mailbox.
#pragma once

#include <cstdint>

namespace ergon::core {

// The largest bound of a mailbox, in messages.
inline constexpr std::uint32_t kMaxMailboxBound = 4'000'000;

}  // namespace ergon::core
