// The part of a node's counters that belongs to no process (any more); see gen::MessageBalance.
#pragma once

#include <ergon/core/foundations/striped_counter.h>

namespace ergon::node {

// Any thread.
struct MessageTotals {
  // Messages sent by others than processes, and by processes that have ended.
  core::StripedCounter accepted;
  core::StripedCounter handled_by_ended;
  core::StripedCounter sent_to_nodes;  // see gen::MessageBalance
};

}  // namespace ergon::node
