// An observer's numbers as metrics.
#pragma once

#include <string>

#include <ergon/node/observer/figures.h>
#include <ergon/node/observer/metrics_writer.h>
#include <ergon/node/observer/state.h>

namespace ergon::node {

// Any thread.
[[nodiscard]] std::string MetricsText(const Figures& figures, const ObserverState& observer,
                                      MetricsFormat format);

}  // namespace ergon::node
