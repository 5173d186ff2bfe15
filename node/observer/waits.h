// Who waits for whom, with the circles in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ergon/gen/process.h>
#include <ergon/node/observer/behavior_index.h>
#include <ergon/node/observer/process_label.h>

namespace ergon::node {

// A process in a Call, as gen::WaitEdge.
struct WaitRow {
  ProcessLabel from;
  ProcessLabel to;
  std::string message;          // the request's type, by its tag if it has one
  std::int64_t waiting_ns = 0;  // 0 and more
  bool certain = true;          // false: another one than `to` may answer
  std::uint64_t circle = 0;     // the number of the circle that it is in; 0: none
};

struct WaitRows {
  std::uint64_t in_all = 0;
  // A circle of calls that are all certain is told to one of its processes at once, and is gone then. What stays here
  // longer has one that is not: if nobody else answers it, these processes wait for ever.
  std::uint64_t circles = 0;
  // The circles first, one after the other, each in the order of its calls; then those that wait longest.
  std::vector<WaitRow> rows;
};

// `limit`: rows at most. By the process `self`, which lets others run while it looks.
[[nodiscard]] WaitRows FindWaits(gen::Process& self, BehaviorIndex& index, std::size_t limit);

}  // namespace ergon::node
