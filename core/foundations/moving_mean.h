// A mean in which the newest value is a small part.
#pragma once

#include <cstdint>

namespace ergon::core {

// Returns an exponentially weighted mean: with each new value, the older ones count seven eighths of what they counted
// before. `mean` 0: there was no value yet.
constexpr std::int64_t MovingMean(std::int64_t mean, std::int64_t newest) noexcept {
  constexpr std::int64_t kWeight = 8;
  return mean == 0 ? newest : mean + (newest - mean) / kWeight;
}

}  // namespace ergon::core
