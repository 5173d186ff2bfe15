// A process made of a function takes a message: Process::Receive.
//
// Receive runs inside of the one turn that the function is. It pops envelopes as a turn does. What it wants,
// and what the runtime handles itself, is handled at once; the rest is passed over, that is kept aside
// unhandled: a notice whose monitor is gone by then, or a request whose caller has given up, is found out
// when its turn comes. With nothing left the process becomes idle as between two turns, only that its next
// turn goes on with the function.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <ergon/gen/receiver.h>
#include <ergon/gen/result.h>
#include <ergon/gen/timer_handle.h>
#include <ergon/node/process/runner.h>
#include <ergon/node/process_state/passed_over.h>

namespace ergon::node {

// One Receive.
class Receiving {
 public:
  explicit Receiving(ProcessRunner& process) : process_(process), passed_over_(Of(process)) {}

  // In the process's own turn. `timeout` is not negative.
  gen::Result<void> Run(gen::Receiver& receiver, std::chrono::nanoseconds timeout);

  // The process has ended: its messages are moved to `waiting`, notices are forgotten.
  static void Close(ProcessRunner& process, std::vector<core::EnvelopePtr>& waiting);

 private:
  static PassedOver& Of(ProcessRunner& process);
  static void ParkHook(void* context, core::Fiber& fiber);

  // Handles the oldest of those passed over that the receiver wants, if there is one.
  void LookAtPassedOver(gen::Receiver& receiver);
  void Handle(core::Envelope& envelope);
  // Keeps it aside; a message counts as one that waits in the mailbox.
  void PassOver(core::Envelope& envelope);
  // So many more messages are passed over: 1 or -1.
  void Count(int messages);
  // A message, notice or request that has to be asked for.
  [[nodiscard]] bool IsReceivable(core::Envelope& envelope) const;
  // The time is up: what waits now is looked at yet, and not what comes.
  void NoteLate();
  // After each envelope: lets others go first, when this process has had its time. True: it has.
  bool GaveWay();
  // Until something arrives. False: no stack is left for one more suspended process.
  [[nodiscard]] bool AwaitArrival();

  ProcessRunner& process_;
  PassedOver& passed_over_;
  std::uint64_t id_ = 0;  // of its timer
  bool is_late_ = false;
  std::uint32_t not_late_ = 0;  // messages that came in time and are not looked at yet
};

}  // namespace ergon::node
