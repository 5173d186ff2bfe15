// The counters that a pool keeps itself; the other numbers are read from the rotation and the workers.
#pragma once

#include <cstdint>

namespace ergon::act {

struct PoolCounters {
  std::uint64_t restarts = 0;  // replacements made
  std::uint64_t handled = 0;   // by workers that have ended
  std::uint64_t salvaged = 0;  // taken over from workers that had ended
  std::uint64_t drained = 0;   // handled by workers that were leaving
  std::uint64_t expired = 0;   // requests skipped by workers that have ended
  // Accepted by the pool and never handled:
  std::uint64_t lost_crashed = 0;
  std::uint64_t lost_full = 0;    // dropped by a policy
  std::uint64_t lost_missed = 0;  // copies of a broadcast for workers that were full
  std::uint64_t lost_failed = 0;  // a user's function that places or copies them threw
  std::uint64_t lost_terminated = 0;
  // Handled or lost without ever having been given to a worker.
  std::uint64_t never_given = 0;

  [[nodiscard]] std::uint64_t Lost() const noexcept {
    return lost_crashed + lost_full + lost_missed + lost_failed + lost_terminated;
  }
};

}  // namespace ergon::act
