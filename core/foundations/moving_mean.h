// A mean of which the newest value is a small part.
#pragma once

#include <cstdint>

namespace ergon::core {

// Exponentially weighted: each value counts seven eighths of what it counted before the next one came.
// `mean` 0: there was none yet.
constexpr std::int64_t MovingMean(std::int64_t mean, std::int64_t newest) noexcept {
  constexpr std::int64_t kWeight = 8;
  return mean == 0 ? newest : mean + (newest - mean) / kWeight;
}

}  // namespace ergon::core
