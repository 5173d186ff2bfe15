// What the operating system says about this program.
#pragma once

#include <cstdint>

namespace ergon::soak {

// Bytes of memory that are resident now.
[[nodiscard]] std::uint64_t ResidentBytes();
// The same, after freed memory has been given back, as far as that is possible.
[[nodiscard]] std::uint64_t TrimmedResidentBytes();
[[nodiscard]] int ThreadCount();

// The C library keeps freed memory for each thread and each size, and goes on to fill those stores for
// hours: what grows here should be Ergon's. It can be told so only when a program begins, so this begins it
// again, unless GLIBC_TUNABLES is set already. To be called first; `words` are those of main.
void RestartWithoutMallocCaches(char** words);

}  // namespace ergon::soak
