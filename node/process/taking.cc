// What a process takes from its mailbox next, where that is not simply the next message.
#include <ergon/core/messages/mailbox_turn.h>
#include <ergon/node/delivery/back_pressure.h>
#include <ergon/node/delivery/unmade_messages.h>
#include <ergon/node/process/runner.h>

namespace ergon::node {

core::Envelope* ProcessRunner::TakeNext() {
  for (;;) {
    core::Envelope* const envelope = taking_.IsUsual() ? mailbox_.Pop() : NextUnusual();
    if (envelope == nullptr || !IsUnmade(*envelope)) return envelope;
    MakeInPlace(mailbox_, *envelope);
  }
}

core::Envelope* ProcessRunner::NextUnusual() {
  core::Envelope* const envelope = mailbox_.Pop(TakesMain());
  return envelope != nullptr || !taking_.HasQueue() ? envelope : NextInQueue();
}

core::Envelope* ProcessRunner::NextInQueue() {
  // A late sender to the slot's former process may have ended the redirection to the queue.
  if (!mailbox_.IsRedirected()) (void)mailbox_.TryRedirect();
  if (!TakesMain() || !mailbox_.HasQueued()) return nullptr;
  try {
    return GetQueueLane()->Pop(mailbox_).release();
  } catch (...) {  // the user's queue: the process's end
    NoteThrown();
    return nullptr;
  }
}

// Messages that have come while those before the order were handled were accepted, too.
bool ProcessRunner::PutStopLast(core::Envelope& stop) {
  // A pool does that itself, a queue has refused all since it got the order.
  if (stop.lane != core::Lane::kMain || IsPool() || taking_.HasQueue()) return false;
  if ((stop.flags & core::Envelope::kFlagInOrder) != 0) return false;
  if (mailbox_.IsMainRefused()) return true;  // a further order; the first one is the last in line
  mailbox_.RefuseMain();
  rooms_.back_pressure.ServeMore(*this);        // who waits for room hears that there will be none
  if (MainMessagesApprox() == 0) return false;  // what is the behaviour's own need not come
  stop.flags |= core::Envelope::kFlagInOrder;
  current_ = nullptr;
  mailbox_.PutLast(&stop);
  return true;
}

bool ProcessRunner::IsAskedToStop() const noexcept {
  return end_requests_.IsAskedToStop(Generation());
}

// A pool that is asked to stop takes what was sent before, however long it would have held that.
bool ProcessRunner::TakesHeldMain() const {
  return !suspended_.load(std::memory_order_relaxed) && IsAskedToStop() && IsPool();
}

void ProcessRunner::NoteWhetherMainIsOpen() noexcept {
  taking_.HoldMain(hold_main_ || suspended_.load(std::memory_order_relaxed));
}

void ProcessRunner::HoldMainLane(bool hold) noexcept {
  hold_main_ = hold;
  NoteWhetherMainIsOpen();
}

}  // namespace ergon::node
