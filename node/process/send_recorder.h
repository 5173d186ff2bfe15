// Who notes what processes send, while they are recorded.
#pragma once

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

class SendRecorder {
 public:
  // Notes a message or a request that a process sends in its own turn, before it is delivered. `to`: the empty PID for
  // a group. Returns false if the process is not recorded (any more).
  [[nodiscard]] virtual bool NoteSend(const ProcessSlot& from, gen::PID to,
                                      const core::Envelope& envelope) = 0;

 protected:
  ~SendRecorder() = default;
};

}  // namespace ergon::node
