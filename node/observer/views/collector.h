// The process that collects an observer's numbers, for all requests.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <ergon/gen/factory.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process.h>
#include <ergon/node/observer/numbers/metrics.h>
#include <ergon/node/observer/numbers/metrics_writer.h>
#include <ergon/node/observer/options.h>
#include <ergon/node/observer/views/last_found.h>
#include <ergon/node/observer/views/process_search.h>
#include <ergon/node/observer/views/process_tree.h>

namespace ergon::node {

// Requests to the collector, which serves one after the other. Those that wait for the same get one answer, and so do
// those that ask for it within ObserverOptions::metrics_period.

// The answers are texts, made once for all; all but the first are JSON.
using SharedText = std::shared_ptr<const std::string>;

struct WantMetrics {
  using Reply = SharedText;
  MetricsFormat format = MetricsFormat::kOpenMetrics;
  ObserverFigures observer;
  AskedWhen asked;
};
struct WantNode {
  using Reply = SharedText;
  bool actions = false;  // whether the observer takes them
  AskedWhen asked;
};
struct WantPools {
  using Reply = SharedText;
  AskedWhen asked;
};
struct WantProcesses {
  using Reply = SharedText;
  ProcessQuery query;
  AskedWhen asked;
};
struct WantTree {
  using Reply = SharedText;
  TreeQuery query;
  AskedWhen asked;
};
struct WantWaits {
  using Reply = SharedText;
  std::size_t limit = 0;
  AskedWhen asked;
};
struct WantProcess {  // the answer is empty if there is no such process
  using Reply = SharedText;
  gen::PID pid;
  AskedWhen asked;
};
struct WantEvents {
  using Reply = SharedText;
  AskedWhen asked;
};
struct WantCluster {
  using Reply = SharedText;
  AskedWhen asked;
};

// A process that ends when it is asked to.
[[nodiscard]] gen::ProcessFactory CollectorFactory(std::shared_ptr<const ObserverOptions> options);

}  // namespace ergon::node
