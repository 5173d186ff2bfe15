// The helper of a port that brings one of the program's streams to the owner.
#pragma once

#include <memory>

#include <ergon/gen/pid.h>
#include <ergon/gen/process.h>
#include <ergon/node/port/messages.h>
#include <ergon/node/port/program.h>

namespace ergon::node {

// A process made of this function. It ends when the stream has ended; or, after it was asked to stop and the
// program has ended, when it has delivered what was in the pipe then. Throws std::system_error when it cannot read.
struct OutputReader {
  void operator()(gen::Process& self) const;

  std::shared_ptr<Program> program;
  gen::PID port;
  gen::PID owner;
  PortOutput which;
};

}  // namespace ergon::node
