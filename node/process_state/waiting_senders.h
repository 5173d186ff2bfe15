// Senders that wait until a mailbox has room.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// One such sender; the object lives where the sender waits.
class WaitingSender {
 public:
  WaitingSender(gen::PID receiver, core::EnvelopePtr& message) : to(receiver), envelope(message) {}
  WaitingSender(const WaitingSender&) = delete;
  WaitingSender& operator=(const WaitingSender&) = delete;

  // Wakes the sender, whose `outcome` is set. Any thread, under the lock of WaitingSenders.
  virtual void Wake() = 0;

  const gen::PID to;
  core::EnvelopePtr& envelope;  // null once it was sent
  gen::Result<void> outcome;
  // Under the lock of WaitingSenders: it has its outcome, and is not in the queue.
  bool is_served = false;

 protected:
  ~WaitingSender() = default;
};

// The senders that wait for the processes of a slot, one after the other.
struct WaitingSenders {
  std::mutex mutex;
  std::deque<WaitingSender*> queue;  // under `mutex`; in the order of arrival
  // True: the slot's process has been asked to look after each message whether a sender can be served: one of these, or
  // one that waits for the pool of which the process is a worker.
  std::atomic<bool> asked{false};
};

}  // namespace ergon::node
