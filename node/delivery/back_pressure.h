// Who waits for room in a mailbox, and when it is their turn.
//
// A sender that finds a mailbox full enters the queue of the receiver and asks it to serve. From then on
// the receiver looks at the queue after it has taken a message out of its mailbox, and delivers for the one who has
// waited longest. For a pool its workers do so, and the pool itself, which may have places of its own.
// Nobody polls, and a message pays nothing while nobody waits: a process is asked by a signal.
//
// Nobody is forgotten: a sender enters first and asks then, while a receiver that finds nobody notes that it
// is not asked any more and looks again (WaitingSenders::asked, acquire and release on both sides).
#pragma once

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/process_state/slot.h>
#include <ergon/node/process_state/waiting_senders.h>

namespace ergon::node {

// Any thread, unless it says otherwise.
class BackPressure {
 public:
  BackPressure(const Addresses& addresses, Delivery& delivery)
      : addresses_(addresses), delivery_(delivery) {}

  // -- senders --

  // Delivers. kProcessMailboxFull: also while others wait there.
  gen::Result<void> TryDeliver(gen::PID to, core::EnvelopePtr& envelope);
  // `sender` waits from now on, until Wake or Leave. It may be served before this returns.
  void Enter(WaitingSender& sender);
  // False: it has been served, and `outcome` says how.
  [[nodiscard]] bool Leave(WaitingSender& sender);

  // -- receivers --

  // In a turn of the process that has been asked: delivers for those who wait for it, or for its pool, as far
  // as there is room. False: nobody is left, and it is not asked any more.
  [[nodiscard]] bool Serve(ProcessSlot& slot);
  // Its mailbox has more room than it had. Any thread.
  void ServeMore(ProcessSlot& slot) { (void)ServeQueue(slot); }
  // The process in this slot has ended: those who wait for it are told.
  void End(ProcessSlot& slot);

 private:
  // False: some still wait.
  bool ServeQueue(ProcessSlot& slot);
  // The same for all that a process makes room for; `slot` first.
  bool ServeQueues(ProcessSlot& slot);
  [[nodiscard]] ProcessSlot* PoolOf(const ProcessSlot& worker) const;  // null: of none
  // Asks a process and, if it is a pool, its workers.
  void Ask(ProcessSlot& slot, gen::PID pid);
  void AskWorkers(ProcessSlot& pool);

  const Addresses& addresses_;
  Delivery& delivery_;
};

}  // namespace ergon::node
