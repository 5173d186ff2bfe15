// Senders that wait until a mailbox has room.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// One of them; it lives where the sender waits.
class WaitingSender {
 public:
  WaitingSender(gen::PID receiver, core::EnvelopePtr& message) : to(receiver), envelope(message) {}
  WaitingSender(const WaitingSender&) = delete;
  WaitingSender& operator=(const WaitingSender&) = delete;

  // `outcome` is there. Any thread, under the lock of WaitingSenders.
  virtual void Wake() = 0;

  const gen::PID to;
  core::EnvelopePtr& envelope;  // null once it was sent
  gen::Result<void> outcome;

 protected:
  ~WaitingSender() = default;
};

// Those who wait for the processes of a slot, one after the other.
struct WaitingSenders {
  std::mutex mutex;
  std::deque<WaitingSender*> queue;  // under `mutex`; in the order in which they have come
  // The slot's process has been asked to look after each message whether somebody can be served: of these,
  // or of those who wait for the pool that it is a worker of.
  std::atomic<bool> asked{false};
};

}  // namespace ergon::node
