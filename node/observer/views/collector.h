// The process that collects an observer's numbers, for all requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <ergon/gen/factory.h>
#include <ergon/gen/process.h>
#include <ergon/node/observer/numbers/figures.h>
#include <ergon/node/observer/options.h>
#include <ergon/node/observer/views/process_search.h>
#include <ergon/node/observer/views/process_tree.h>
#include <ergon/node/observer/views/waits.h>

namespace ergon::node {

// Requests to the collector, which serves one after the other. Those that wait for the same get one answer, which is
// not older than any of them. `asked_at`: Clock ns at which the request was sent.

// Within ObserverOptions::metrics_period the answer is the same as before.
struct WantFigures {
  using Reply = std::shared_ptr<const Figures>;
  std::int64_t asked_at = 0;
};
struct WantProcesses {
  using Reply = std::shared_ptr<const ProcessRows>;
  ProcessQuery query;
  std::int64_t asked_at = 0;
};
struct WantTree {
  using Reply = std::shared_ptr<const TreeRows>;
  TreeQuery query;
  std::int64_t asked_at = 0;
};
struct WantWaits {
  using Reply = std::shared_ptr<const WaitRows>;
  std::size_t limit = 0;
  std::int64_t asked_at = 0;
};

// A process that ends when it is asked to.
[[nodiscard]] gen::ProcessFactory CollectorFactory(std::shared_ptr<const ObserverOptions> options);

}  // namespace ergon::node
