// How long calls and handlers take, as text.
#pragma once

#include <ergon/node/metrics/latency.h>
#include <ergon/node/observer/numbers/metrics_writer.h>

namespace ergon::node {

void WriteLatency(MetricsWriter& out, Latency& latency);

}  // namespace ergon::node
