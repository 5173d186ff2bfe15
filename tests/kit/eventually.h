// Conditions, never times: how tests wait.
#pragma once

#include <chrono>
#include <thread>

#include <ergon/core/foundations/sanitizers.h>

namespace ergon::kit {

inline constexpr bool kSanitized = ERGON_ASAN || ERGON_TSAN;

// No test waits longer for anything. That a call with this time-out fails with another error than
// kTimeout proves that it was told at once.
inline constexpr std::chrono::seconds kDeadline(kSanitized ? 60 : 20);

// A count for loops, smaller where everything is slower.
constexpr int Scaled(int plain, int divisor = 20) { return kSanitized ? plain / divisor : plain; }

// Waits until `condition()` holds; false if it does not by the deadline.
template <class Condition>
[[nodiscard]] bool Eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

}  // namespace ergon::kit
