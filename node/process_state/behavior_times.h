// How long messages, handlers and calls of the processes with one behaviour take, for NodeOptions::measure_latency.
#pragma once

#include <ergon/gen/metrics.h>

namespace ergon::node {

// In seconds. Any thread, without a lock.
struct BehaviorTimes {
  gen::Histogram waiting;   // of messages, from the sending until the handler begins
  gen::Histogram handling;  // of the handlers
  gen::Histogram calls;     // of calls to these processes
};

}  // namespace ergon::node
