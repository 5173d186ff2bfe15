// Asking processes to end: exit signals, kills, and stops that wait in line.
#pragma once

#include <cstdint>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/gen/trace.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Any thread.
class ExitSignals {
 public:
  ExitSignals(const Addresses& addresses, Delivery& delivery)
      : addresses_(addresses), delivery_(delivery) {}

  // Sends an exit signal. `ref`: gen::kExplicitExit, gen::kChildExit, or 0: from a link. `in_order`: see
  // Relations::TellWatcher. `trace`: 0 for none.
  void Send(gen::PID to, gen::PID from, const gen::Reason& reason, std::uint64_t ref,
            bool in_order = false, gen::TraceId trace = 0);
  void Deliver(gen::PID to, core::EnvelopePtr signal);
  // Does what gen::Messenger::SendExit says.
  gen::Result<void> SendExit(gen::PID from, const gen::Target& to, const gen::Reason& reason,
                             gen::TraceId trace = 0);
  gen::Result<void> Kill(gen::PID pid);
  // Asks a process to end with `reason` after what waits in its Main lane now.
  gen::Result<void> StopAfterQueue(gen::PID pid, const gen::Reason& reason);
  // Resumes a process that is suspended, or will be by an order that is on its way.
  void Resume(gen::PID pid);

  // Returns whether an envelope ends the process, whatever the behaviour would do with it.
  [[nodiscard]] bool IsStop(const ProcessSlot& slot, const core::Envelope& envelope) const {
    return IsStop(slot, envelope, slot.end_requests().TrapsExits());
  }
  // Returns whether an envelope ends what the process waits for: it ends the process, or the behaviour will end with
  // it.
  [[nodiscard]] bool EndsWaits(const ProcessSlot& slot, const core::Envelope& envelope,
                               EndRequests::ExitRule rule) const;

 private:
  [[nodiscard]] bool IsStop(const ProcessSlot& slot, const core::Envelope& envelope,
                            bool traps_exits) const;
  gen::Result<void> PushStop(ProcessSlot& slot, gen::PID pid, const gen::Reason& reason);
  // Interrupts the process, after a signal was delivered. `end`: a copy of the signal's head if it will end the
  // process; else null.
  void Interrupt(ProcessSlot& slot, gen::PID pid, const core::Envelope* end);

  const Addresses& addresses_;
  Delivery& delivery_;
};

// Returns the exit signal of a link with `remote` whose connection is lost. The one who gets it has noted `ref`.
[[nodiscard]] core::EnvelopePtr MakeLossSignal(gen::PID remote, gen::Ref ref);

}  // namespace ergon::node
