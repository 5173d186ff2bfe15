// Numbers that are unique in the program: the ids of requests, monitors, timers, aliases.
#pragma once

#include <cstdint>

namespace ergon::node {

// Returns a number of 1 to 2^61, never the same twice. Any thread; no shared write except once in 65,536 calls.
[[nodiscard]] std::uint64_t NextUniqueId();

// Returns the id of a request whose answer comes as a message (Process::Request), never the same twice either. Knowing
// some ids does not help to guess others: an answer needs a ref that was given to the sender.
[[nodiscard]] std::uint64_t NextRequestId();

inline constexpr std::uint64_t kRequestIdBit = std::uint64_t{1} << 63;

// Returns whether an id is one of NextRequestId; those of NextUniqueId never look like that.
[[nodiscard]] constexpr bool IsRequestId(std::uint64_t id) { return (id & kRequestIdBit) != 0; }

}  // namespace ergon::node
