// The process that collects an observer's numbers, for all requests.
#pragma once

#include <cstddef>
#include <memory>

#include <ergon/gen/factory.h>
#include <ergon/gen/process.h>
#include <ergon/node/observer/numbers/figures.h>
#include <ergon/node/observer/options.h>
#include <ergon/node/observer/views/process_search.h>
#include <ergon/node/observer/views/process_tree.h>
#include <ergon/node/observer/views/waits.h>

namespace ergon::node {

// A request to the collector. Within ObserverOptions::metrics_period the answer is the same as before.
struct WantFigures {
  using Reply = std::shared_ptr<const Figures>;
};

// Requests for processes: each search is done anew, one request after the other.
struct WantProcesses {
  using Reply = std::shared_ptr<const ProcessRows>;
  ProcessQuery query;
};

struct WantTree {
  using Reply = std::shared_ptr<const TreeRows>;
  TreeQuery query;
};
struct WantWaits {
  using Reply = std::shared_ptr<const WaitRows>;
  std::size_t limit = 0;
};

// A process that ends when it is asked to.
[[nodiscard]] gen::ProcessFactory CollectorFactory(std::shared_ptr<const ObserverOptions> options);

}  // namespace ergon::node
