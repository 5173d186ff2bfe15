// What the processes of one observer share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ergon/gen/pid.h>
#include <ergon/node/observer/http/gate.h>
#include <ergon/node/observer/http/open_connections.h>
#include <ergon/node/observer/http/settings.h>
#include <ergon/node/observer/numbers/answer_counts.h>

namespace ergon::node {

struct ObserverState {
  explicit ObserverState(ObserverSettings checked)
      : settings(std::move(checked)),
        gate(settings),
        connections(static_cast<std::size_t>(settings.options.max_connections)) {}

  const ObserverSettings settings;
  const Gate gate;
  OpenConnections connections;
  AnswerCounts answers;
  std::atomic<std::uint64_t> displaced{0};  // connections that gave way to new ones
  std::atomic<std::int64_t> changed_at{0};  // Clock ns of the last action
  // Set before the listener begins.
  int port = 0;
  gen::PID collector;
};

}  // namespace ergon::node
