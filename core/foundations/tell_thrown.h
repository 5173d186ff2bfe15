// Exceptions of user code that no caller waits for.
#pragma once

#include <atomic>
#include <cstdio>
#include <string>

#include <ergon/core/foundations/thrown_text.h>

namespace ergon::core {

// Writes a line to standard error, as in "ergon: BeforeTurn threw: out of range". To be called inside a catch (...), in
// a thread of the runtime. Writes the first time only for each `told`, because user code may throw each time.
inline void TellThrown(const char* place, std::atomic<bool>& told) noexcept {
  if (told.exchange(true, std::memory_order_relaxed)) return;
  try {
    const std::string line = std::string("ergon: ") + place + " threw: " + ThrownText() + "\n";
    std::fputs(line.c_str(), stderr);
  } catch (...) {  // no memory for the words
    std::fputs("ergon: an exception in a thread of the runtime\n", stderr);
  }
}

// Calls a function that must not throw, and goes on if it does. One type of `call` for each place.
template <class Call>
void CallUser(const char* place, const Call& call) noexcept {
  try {
    call();
  } catch (...) {
    static std::atomic<bool> told{false};
    TellThrown(place, told);
  }
}

}  // namespace ergon::core
