// How a process hears of the ends of others: options of Process::Monitor and Process::Link.
#pragma once

#include <cstdint>

namespace ergon::gen {

// Where among the messages that wait the notice of an end is handled: a MessageDown..., or the exit signal of a link.
enum class NoticeOrder : std::uint8_t {
  // kInOrder of a process of an Erlang node, as it is there; kFirst of all others.
  kUsual,
  // Before the messages of priority normal that wait, also those that the process has sent before it ended.
  kFirst,
  // Behind all that the process has sent before, as Erlang has it: who sends a result and ends is heard in that order.
  // It waits as the last message of priority normal, whatever the mailbox's bound, so it comes behind what others have
  // sent, too, and while the process is suspended, not at all. In a mailbox with an order of its own it comes after as
  // many messages as waited there. At once, as kFirst:
  //   an exit signal that is not trapped, which ends the receiver with all that waits
  //   what a pool is told, whose messages wait at its workers
  kInOrder,
};

struct MonitorOptions {
  NoticeOrder order = NoticeOrder::kUsual;
};

// Of this process only: the other one hears of its end as it has asked for. A second Link with an order other than
// kUsual changes that of the first.
struct LinkOptions {
  NoticeOrder order = NoticeOrder::kUsual;
};

}  // namespace ergon::gen
