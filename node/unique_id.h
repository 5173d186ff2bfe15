// Numbers that are unique in the program: the ids of requests, monitors, timers, aliases.
#pragma once

#include <cstdint>

namespace ergon::node {

// 1 to 2^61, never the same twice. Any thread; no shared write except once in 65,536 calls.
[[nodiscard]] std::uint64_t NextUniqueId();

}  // namespace ergon::node
