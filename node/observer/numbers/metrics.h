// An observer's numbers as metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <ergon/node/observer/numbers/answer_counts.h>
#include <ergon/node/observer/numbers/figures.h>
#include <ergon/node/observer/numbers/metrics_writer.h>

namespace ergon::node {

// What the observer says of itself.
struct ObserverFigures {
  std::size_t connections = 0;  // that are open
  std::uint64_t displaced = 0;  // connections that gave way to new ones
  const AnswerCounts& answers;
};

// Any thread.
[[nodiscard]] std::string MetricsText(const Figures& figures, const ObserverFigures& observer,
                                      MetricsFormat format);

}  // namespace ergon::node
