// The metrics that a program counts itself, as text.
#pragma once

#include <ergon/node/metrics/user_metrics.h>
#include <ergon/node/observer/numbers/metrics_writer.h>

namespace ergon::node {

void WriteUserMetrics(MetricsWriter& out, const UserMetrics::Families& families);

}  // namespace ergon::node
