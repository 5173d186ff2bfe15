// How a process learns of the ends of others: options of Process::Monitor and Process::Link.
#pragma once

#include <cstdint>

namespace ergon::gen {

// When the notice of an end is handled, relative to the waiting messages: a MessageDown..., or the exit signal of a
// link.
enum class NoticeOrder : std::uint8_t {
  // kInOrder for a process of an Erlang node, as Erlang does it; kFirst for all others.
  kUsual,
  // Before the waiting messages of priority normal, also those that the process has sent before it ended.
  kFirst,
  // Behind everything that the process has sent before, as in Erlang: if a process sends a result and ends, the
  // receiver sees the two in that order. The notice waits as the last message of priority normal, whatever the
  // mailbox's bound. So it comes behind the messages of other senders, too, and does not come while the receiver is
  // suspended (Node::Suspend). In a mailbox with an order of its own it is handled after n further
  // messages, if n were waiting when it came.
  // At once, as kFirst:
  //   an exit signal that is not trapped, which ends the receiver with all messages that wait
  //   the notices to a pool, whose messages wait at its workers
  kInOrder,
};

struct MonitorOptions {
  NoticeOrder order = NoticeOrder::kUsual;
};

// Applies to this process only: the other process learns of this one's end as its own options say. A second Link with
// an order other than kUsual changes that of the first.
struct LinkOptions {
  NoticeOrder order = NoticeOrder::kUsual;
};

}  // namespace ergon::gen
