// The process that collects an observer's numbers, for all who ask.
#pragma once

#include <memory>

#include <ergon/gen/process.h>
#include <ergon/node/observer/figures.h>
#include <ergon/node/observer/state.h>

namespace ergon::node {

// A request to it. Who asks within ObserverOptions::metrics_period gets what the one before got.
struct WantFigures {
  using Reply = std::shared_ptr<const Figures>;
};

// A process made of this function. It ends when it is asked to.
struct Collector {
  void operator()(gen::Process& self) const;

  std::shared_ptr<ObserverState> state;
};

}  // namespace ergon::node
