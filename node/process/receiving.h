// A process made of a function takes a message: Process::Receive.
//
// Receive runs inside of the one turn that the function is. It pops envelopes as a turn does. The envelopes that it
// wants, and those that the runtime handles itself, are handled at once; the rest is passed over, that is kept
// unhandled. Whether the monitor of such a notice is gone by then, or the caller of such a request has given up, is
// found out when its turn comes. With no envelope left the process becomes idle as between two turns, only that its
// next turn continues the function.
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

  // Runs in the process's own turn. `timeout` is not negative.
  gen::Result<void> Run(gen::Receiver& receiver, std::chrono::nanoseconds timeout);

  // Moves the messages to `waiting` and drops the notices: the process has ended.
  static void Close(ProcessRunner& process, std::vector<core::EnvelopePtr>& waiting);

 private:
  static PassedOver& Of(ProcessRunner& process);
  static void ParkHook(void* context, core::Fiber& fiber, core::Fiber& to);

  // Handles the oldest of the envelopes passed over that the receiver wants, if there is one.
  void LookAtPassedOver(gen::Receiver& receiver);
  void Handle(core::Envelope& envelope);
  // Passes an envelope over; a message counts as one that waits in the mailbox.
  void PassOver(core::Envelope& envelope);
  // Counts so many more messages as passed over: 1 or -1.
  void Count(int messages);
  // Returns whether it is a message, notice or request that a Receive must ask for.
  [[nodiscard]] bool IsReceivable(core::Envelope& envelope) const;
  // Notes that the time is up: what waits now is still looked at, but not what comes later.
  void NoteLate();
  // Lets others run, after an envelope, if this process has had its time. Returns whether it has.
  bool GaveWay();
  // Suspends the process until something arrives. Returns false if no stack is left for one more suspended process.
  [[nodiscard]] bool AwaitArrival();

  ProcessRunner& process_;
  PassedOver& passed_over_;
  std::uint64_t id_ = 0;  // of its timer
  bool is_late_ = false;
  std::uint32_t not_late_ = 0;  // messages that came in time and are not looked at yet
};

}  // namespace ergon::node
