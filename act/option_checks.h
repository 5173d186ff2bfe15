// What users write into option structs of this layer.
#pragma once

#include <string>
#include <string_view>

#include <fmt/core.h>

namespace ergon::act {

// Empty if it is within, else a text as "pool_size: 0 is outside 1..10".
inline std::string CheckRange(std::string_view name, int value, int least, int most) {
  if (value >= least && value <= most) return {};
  return fmt::format("{}: {} is outside {}..{}", name, value, least, most);
}

}  // namespace ergon::act
