// Points in time that cannot overflow.
#pragma once

#include <chrono>
#include <cstdint>

#include <ergon/core/clock.h>

namespace ergon::core {

// Returns the time that is `duration`, not negative, after `now`; kNever if the clock does not reach that far.
[[nodiscard]] constexpr std::int64_t DeadlineAfter(std::int64_t now,
                                                   std::chrono::nanoseconds duration) noexcept {
  return duration.count() > core::kNever - now ? core::kNever : now + duration.count();
}

}  // namespace ergon::core
