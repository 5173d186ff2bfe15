// The tree of the workload skynet, whose leaves' numbers are summed on the way up: in the programs of Ergon and of its
// peers.
#pragma once

#include <cstdint>
#include <stdexcept>

#include <bench/params.h>

namespace ergon::bench {

inline constexpr std::int64_t kBranches = 10;

// Returns the parameter n, rounded down to a power of 10.
inline std::int64_t SkynetLeaves(const Params& params) {
  std::int64_t leaves = 1;
  while (leaves * kBranches <= params["n"]) leaves *= kBranches;
  return leaves;
}

// Throws if `sum` is not that of all leaves.
inline void CheckSkynetSum(std::int64_t sum, std::int64_t leaves) {
  if (sum != leaves * (leaves - 1) / 2) throw std::runtime_error("skynet: wrong sum");
}

}  // namespace ergon::bench
