// Turns similar numbers into dissimilar ones.
#pragma once

#include <cstdint>

namespace ergon::core {

// A bijection: every bit of the result depends on every bit of `number`, so consecutive numbers become as good as
// random ones. The finalizer of SplitMix64.
[[nodiscard]] constexpr std::uint64_t Mix(std::uint64_t number) noexcept {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

}  // namespace ergon::core
