// How long handlers and calls take, for NodeOptions::measure_latency.
#pragma once

#include <cstdint>

#include <ergon/node/process/runner.h>

namespace ergon::node {

// A measurement of a handler begins when a message is given to it, and ends with the next message or with the turn. It
// uses ProcessRunner::due_, which is looked at anyway, so that it costs nothing when it is off.
//
// In a process's own turn.
class Measuring {
 public:
  static void Begin(ProcessRunner& process);          // for a new process, if the node measures
  static void BeginHandling(ProcessRunner& process);  // of what it handles, if that is a message
  static void EndHandling(ProcessRunner& process);    // if there is one
  // Notes that the process has waited for the outcome with this id. Does nothing if that is not a call, or calls are
  // not measured.
  static void NoteCall(const ProcessRunner& process, std::uint64_t id);
};

}  // namespace ergon::node
