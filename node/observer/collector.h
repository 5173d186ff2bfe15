// The process that collects an observer's numbers, for all who ask.
#pragma once

#include <cstddef>
#include <memory>

#include <ergon/gen/process.h>
#include <ergon/node/observer/figures.h>
#include <ergon/node/observer/process_search.h>
#include <ergon/node/observer/process_tree.h>
#include <ergon/node/observer/state.h>
#include <ergon/node/observer/waits.h>

namespace ergon::node {

// A request to it. Who asks within ObserverOptions::metrics_period gets what the one before got.
struct WantFigures {
  using Reply = std::shared_ptr<const Figures>;
};

// The same for processes: each is looked for anew, one request after the other.
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

// A process made of this function. It ends when it is asked to.
struct Collector {
  gen::Reason operator()(gen::Process& self) const;

  std::shared_ptr<ObserverState> state;
};

}  // namespace ergon::node
