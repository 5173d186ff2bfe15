// How urgent a message is.
#pragma once

#include <cstdint>

namespace ergon::gen {

// A process handles all its max before its high before its normal messages. Only normal messages
// count against a mailbox's bound, and only they are forwarded by a pool.
enum class MessagePriority : std::uint8_t { kNormal = 0, kHigh = 1, kMax = 2 };

}  // namespace ergon::gen
