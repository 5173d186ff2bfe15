// What is wrong with a metric that a user wants.
#pragma once

#include <string_view>
#include <vector>

#include <ergon/gen/metrics.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// kIncorrect, with a text that names the first bad field and its value. An empty help is right. Any thread.
[[nodiscard]] gen::Result<void> CheckMetric(std::string_view name,
                                            const gen::MetricOptions& options);
// Beyond that, for a histogram.
[[nodiscard]] gen::Result<void> CheckBounds(const gen::HistogramOptions& options);

}  // namespace ergon::node
