// How long handlers and calls take, for NodeOptions::measure_latency.
#pragma once

#include <cstdint>

#include <ergon/node/process/runner.h>

namespace ergon::node {

// A measurement of a handler begins when a message is given to it, and ends when the next one is, or with the turn. So it
// takes the place of what is looked at anyway: ProcessRunner::due_.
//
// In a process's own turn.
class Measuring {
 public:
  static void Begin(ProcessRunner& process);          // of a new process, if the node wants it
  static void BeginHandling(ProcessRunner& process);  // of what it handles, if that is a message
  static void EndHandling(ProcessRunner& process);    // if there is one
  // It has waited for the outcome with this id. Nothing happens if that is no call, or nobody measures it.
  static void NoteCall(const ProcessRunner& process, std::uint64_t id);
};

}  // namespace ergon::node
