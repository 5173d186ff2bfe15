// For misuse that cannot be reported to the caller: a message on stderr, then abort.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace ergon::core {

[[noreturn]] inline void Fatal(const char* where, const char* what) {
  std::fprintf(stderr, "ergon: %s: %s\n", where, what);
  std::abort();
}

}  // namespace ergon::core
