#include <bench/measurement.h>

#include <algorithm>

#include <fmt/format.h>

namespace ergon::bench {

void AddLatencies(Measurement& measurement, std::vector<std::int64_t>& nanoseconds) {
  if (nanoseconds.empty()) return;
  std::sort(nanoseconds.begin(), nanoseconds.end());
  const auto at = [&](double share) {
    const auto last = static_cast<double>(nanoseconds.size() - 1);
    return static_cast<double>(nanoseconds[static_cast<std::size_t>(share * last)]) / 1000;
  };
  measurement.extra.emplace_back("p50_us", at(0.50));
  measurement.extra.emplace_back("p99_us", at(0.99));
  measurement.extra.emplace_back("max_us", at(1));
}

std::string ToJson(const std::string& peer, const std::string& workload, const std::string& params,
                   const Measurement& measurement, const std::string& surroundings) {
  const double seconds = static_cast<double>(measurement.nanoseconds) / 1e9;
  std::string extra;
  for (const auto& [name, value] : measurement.extra) {
    extra += fmt::format(",\"{}\":{:.3f}", name, value);
  }
  return fmt::format(R"({{"peer":"{}","workload":"{}","params":{},"ops":{},"seconds":{:.6f},)"
                     R"("ops_per_s":{:.0f},"ns_per_op":{:.2f}{},{}}})",
                     peer, workload, params, measurement.ops, seconds,
                     seconds == 0 ? 0 : static_cast<double>(measurement.ops) / seconds,
                     measurement.PerOp(), extra, surroundings);
}

}  // namespace ergon::bench
