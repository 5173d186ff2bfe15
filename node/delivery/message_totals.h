// The part of a node's counters that belongs to no living process; see gen::MessageBalance.
#pragma once

#include <ergon/core/foundations/striped_counter.h>
#include <ergon/node/delivery/ended_counts.h>

namespace ergon::node {

// Any thread.
struct MessageTotals {
  core::StripedCounter accepted;  // sent by others than processes
  EndedCounts ended;
  core::StripedCounter sent_to_nodes;  // see gen::MessageBalance
};

}  // namespace ergon::node
