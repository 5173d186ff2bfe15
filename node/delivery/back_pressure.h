// Senders that wait for room in a mailbox, and when it is their turn.
//
// A sender that finds a mailbox full enters the queue of the receiver and asks the receiver to serve. From then on the
// receiver looks at the queue after it has taken a message out of its mailbox, and delivers for the sender that has
// waited longest. For a pool its workers do so, and the pool itself, which may have room of its own. Nobody polls, and
// a message pays nothing while no sender waits: a process is asked by a signal.
//
// No sender is forgotten: a sender first enters and then asks, while a receiver that finds an empty queue notes that it
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
  // Returns the error of a process that would wait for room in its own mailbox, as the only worker of `pool`.
  [[nodiscard]] static gen::Error WouldWaitForItself(gen::PID worker, gen::PID pool);

  BackPressure(const Addresses& addresses, Delivery& delivery)
      : addresses_(addresses), delivery_(delivery) {}

  // -- senders --

  // Delivers an envelope. Returns kProcessMailboxFull also while other senders wait there. If the sender `may_wait`, a
  // pool without room does not count the message as refused.
  gen::Result<void> TryDeliver(gen::PID to, core::EnvelopePtr& envelope, bool may_wait);
  // Makes `sender` wait, until Wake or Leave. It may be served before this returns. If this throws, it does not wait.
  void Enter(WaitingSender& sender);
  // Takes `sender` out of the queue, and its message counts as refused. Returns false if it has been served; `outcome`
  // says how.
  [[nodiscard]] bool Leave(WaitingSender& sender);

  // -- receivers --

  // Delivers for the senders that wait for this process, or for its pool, as far as there is room. Call it in a turn of
  // the process that has been asked. Returns false if no sender is left; then the process is not asked any more.
  [[nodiscard]] bool Serve(ProcessSlot& slot);
  // Serves senders after the bound of a mailbox has grown. Any thread.
  void ServeMore(ProcessSlot& slot) { (void)ServeQueue(slot); }
  // Gives all senders that wait for the process in this slot the error that it has ended.
  void End(ProcessSlot& slot);
  [[nodiscard]] static bool HasWaiting(const ProcessSlot& slot);

 private:
  // Returns false if some senders still wait.
  bool ServeQueue(ProcessSlot& slot);
  // A pool without room has one worker left: gives those who wait in that worker's handler the error, as nobody else can
  // make room. With the lock of `waiting`.
  void RefuseOnlyWorker(const ProcessSlot& pool, WaitingSenders& waiting) const;
  // Does the same for all queues for which a process makes room, that of `slot` first.
  bool ServeQueues(ProcessSlot& slot);
  [[nodiscard]] ProcessSlot* PoolOf(const ProcessSlot& worker) const;  // null: no pool's
  // Asks a process and, if it is a pool, its workers.
  void Ask(ProcessSlot& slot, gen::PID pid);
  void AskWorkers(ProcessSlot& pool);

  const Addresses& addresses_;
  Delivery& delivery_;
};

}  // namespace ergon::node
