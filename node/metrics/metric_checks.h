// Checks of the metrics that a user asks for.
#pragma once

#include <string_view>
#include <vector>

#include <ergon/gen/metrics.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// Returns kIncorrect, with a text that names the first bad field and its value. An empty help is valid. Any thread.
[[nodiscard]] gen::Result<void> CheckMetric(std::string_view name,
                                            const gen::MetricOptions& options);
// Checks the bounds of a histogram likewise.
[[nodiscard]] gen::Result<void> CheckBounds(const gen::HistogramOptions& options);

}  // namespace ergon::node
