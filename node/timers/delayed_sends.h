// Messages that are sent later.
#pragma once

#include <chrono>

#include <ergon/core/clock.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/gen/timer_handle.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/process_state/own_sends.h>

namespace ergon::node {

// Any thread.
class DelayedSends {
 public:
  // All of them outlive this.
  DelayedSends(const Addresses& addresses, Delivery& delivery, MessageTotals& totals,
               core::TimerQueue& timers, const core::Clock& clock)
      : addresses_(addresses),
        delivery_(delivery),
        totals_(totals),
        timers_(timers),
        clock_(clock) {}

  // `own`: those of the process to which this one goes, if that sends it itself; else null.
  gen::Result<gen::TimerHandle> Start(const gen::Target& to, core::EnvelopePtr& envelope,
                                      std::chrono::nanoseconds delay, OwnSends* own = nullptr);
  // Cancels those of a process that ends.
  void End(OwnSends& own);

 private:
  class DelayedSend;

  const Addresses& addresses_;
  Delivery& delivery_;
  MessageTotals& totals_;
  core::TimerQueue& timers_;
  const core::Clock& clock_;
};

}  // namespace ergon::node
