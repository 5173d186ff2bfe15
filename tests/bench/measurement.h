// What one run of a workload has measured, and how it is printed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ergon::bench {

struct Measurement {
  std::int64_t ops = 0;
  std::int64_t nanoseconds = 0;
  // More figures, printed in this order, as {"p50_us", 1.2}.
  std::vector<std::pair<std::string, double>> extra = {};

  [[nodiscard]] double PerOp() const {
    return ops == 0 ? 0 : static_cast<double>(nanoseconds) / static_cast<double>(ops);
  }
};

// Adds p50_us, p99_us and max_us of latencies in nanoseconds; sorts them.
void AddLatencies(Measurement& measurement, std::vector<std::int64_t>& nanoseconds);

// One line of JSON. `params` and `surroundings` are JSON too: an object, and members of one.
std::string ToJson(const std::string& peer, const std::string& workload, const std::string& params,
                   const Measurement& measurement, const std::string& surroundings);

}  // namespace ergon::bench
