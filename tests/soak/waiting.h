// Conditions, with a deadline for what would never come.
#pragma once

#include <chrono>
#include <thread>

#include <kit/eventually.h>

namespace ergon::soak {

// Generous: the machine may have much else to do.
inline constexpr std::chrono::seconds kPatience(kit::kSanitized ? 240 : 60);

// False if `condition()` does not hold by the deadline.
template <class Condition>
[[nodiscard]] bool WaitUntil(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace ergon::soak
