// Checks of the values that users write into option structs of this layer.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>

namespace ergon::act {

// Returns an empty text if `value` is within least..most, else a text as "pool_size: 0 is outside 1..10".
inline std::string CheckRange(std::string_view name, int value, int least, int most) {
  if (value >= least && value <= most) return {};
  return fmt::format("{}: {} is outside {}..{}", name, value, least, most);
}

// Returns an empty text if `value` is at least `least`, else a text as "restart_period: 0 is less than 1ns".
inline std::string CheckAtLeast(std::string_view name, std::chrono::nanoseconds value,
                                std::chrono::nanoseconds least) {
  if (value >= least) return {};
  return fmt::format("{}: {} is less than {}", name, core::ExactTime(value),
                     core::ExactTime(least));
}

// Returns an empty text if `value` is at most `most`, else a text as "restart_period: 2ns is more than 1ns".
inline std::string CheckAtMost(std::string_view name, std::chrono::nanoseconds value,
                               std::chrono::nanoseconds most) {
  if (value <= most) return {};
  return fmt::format("{}: {} is more than {}", name, core::ExactTime(value), core::ExactTime(most));
}

}  // namespace ergon::act
