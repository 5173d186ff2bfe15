// How long messages wait and handlers and calls take, for NodeOptions::measure_latency.
#pragma once

#include <cstdint>

#include <ergon/core/messages/envelope.h>
#include <ergon/node/process/runner.h>
#include <ergon/node/process_state/behavior_times.h>

namespace ergon::node {

// A measurement of a handler begins when a message is given to it, and ends with the next message or with the turn. It
// uses ProcessRunner::due_, which is looked at anyway, so that it costs nothing when it is off.
//
// The time at which a message was sent is in `deadline` of its envelope, which only requests, ticks and messages with
// a trace id use (Delivery::NoteSent). Where a process sends, its OutgoingMarks, which are looked at anyway, have it
// noted. A call's is in the edge of its caller.
//
// In a process's own turn.
class Measuring {
 public:
  static void Begin(ProcessRunner& process, Latency& latency);  // for a new process
  // Notes whom the process calls now: the process in this slot; null: one of another node, or none.
  static void NoteCallee(ProcessRunner& process, const ProcessSlot* callee);
  static void BeginHandling(ProcessRunner& process);  // of what it handles, if that is a message
  static void EndHandling(ProcessRunner& process);    // if there is one
  // Notes that the process has waited for the outcome with this id. Does nothing if that is not a call, or calls are
  // not measured.
  static void NoteCall(const ProcessRunner& process, std::uint64_t id);

 private:
  static BehaviorTimes& TimesOf(const ProcessRunner& process);
  static void EndAt(ProcessRunner& process, std::int64_t now);
  // Returns when the message that the process begins with was sent, Clock ns, once for each message; 0: that is not
  // known.
  static std::int64_t TakeSentAt(ProcessRunner& process);
};

}  // namespace ergon::node
