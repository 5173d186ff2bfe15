// The part of a node's counters that belongs to no living process; see gen::MessageBalance.
#pragma once

#include <ergon/core/foundations/striped_counter.h>
#include <ergon/node/delivery/ended_counts.h>

namespace ergon::node {

// Any thread.
struct MessageTotals {
  core::StripedCounter accepted;  // sent by others than processes
  EndedCounts ended;
  // Never goes down, so that it can be shown as a counter. gen::MessageBalance has those that were not lost.
  core::StripedCounter given_to_nodes;
  core::StripedCounter lost_with_connections;  // of them, and dropped
};

}  // namespace ergon::node
