// Which process waits for which, with the circles among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ergon/gen/process.h>
#include <ergon/node/observer/numbers/behavior_index.h>
#include <ergon/node/observer/views/process_label.h>

namespace ergon::node {

// A process in a Call, as gen::WaitEdge.
struct WaitRow {
  ProcessLabel from;
  ProcessLabel to;
  std::string message;          // the request's type, by its tag if it has one
  std::int64_t waiting_ns = 0;  // 0 and more
  bool certain = true;          // false: another process than `to` may answer
  std::uint64_t circle = 0;     // the number of the circle that it is in; 0: none
};

struct WaitRows {
  std::uint64_t in_all = 0;
  // If all calls of a circle are certain, one of its processes gets kDeadlock at once, and the circle is gone. A circle
  // that stays has a call that is not certain: if no other process answers it, these processes wait for ever.
  std::uint64_t circles = 0;
  // The circles first, one after the other, each in the order of its calls; then those that wait longest.
  std::vector<WaitRow> rows;
};

// Finds up to `limit` rows. Called by the process `self`, which lets others run while it looks.
[[nodiscard]] WaitRows FindWaits(gen::Process& self, BehaviorIndex& index, std::size_t limit);

}  // namespace ergon::node
