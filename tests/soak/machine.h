// What the operating system says about this program.
#pragma once

#include <cstdint>

namespace ergon::soak {

// Bytes of memory that are resident now.
[[nodiscard]] std::uint64_t ResidentBytes();
// The same, after freed memory has been given back, as far as that is possible.
[[nodiscard]] std::uint64_t TrimmedResidentBytes();
[[nodiscard]] int ThreadCount();

}  // namespace ergon::soak
