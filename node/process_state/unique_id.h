// Numbers that are unique in the program: the ids of requests, monitors, timers, aliases.
#pragma once

#include <cstdint>

namespace ergon::node {

// 1 to 2^61, never the same twice. Any thread; no shared write except once in 65,536 calls.
[[nodiscard]] std::uint64_t NextUniqueId();

// The id of a request whose answer comes as a message (Process::Request). Never the same twice
// either, but who knows some cannot tell others: an answer needs a ref that was handed over.
[[nodiscard]] std::uint64_t NextRequestId();

inline constexpr std::uint64_t kRequestIdBit = std::uint64_t{1} << 63;

// Unique ids never look like that.
[[nodiscard]] constexpr bool IsRequestId(std::uint64_t id) { return (id & kRequestIdBit) != 0; }

}  // namespace ergon::node
