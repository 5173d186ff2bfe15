// The helpers of a port that wait for an end: of the program, and of the owner.
#pragma once

#include <memory>

#include <ergon/gen/pid.h>
#include <ergon/gen/process.h>
#include <ergon/node/port/program.h>

namespace ergon::node {

// Processes made of these functions.

// Waits for the program, and ends when the program has ended.
struct ProgramWatch {
  void operator()(gen::Process& self) const;

  std::shared_ptr<Program> program;
};

// Asks the port to end when the owner has.
struct OwnerWatch {
  void operator()(gen::Process& self) const;

  gen::PID port;
  gen::PID owner;
};

}  // namespace ergon::node
