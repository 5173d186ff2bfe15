// The requests that a supervisor answers, as in
//
//   auto pid = node.Call(root, act::StartChildRequest{"jobs"}, {.priority = gen::MessagePriority::kHigh});
//
// Any priority will do; with kHigh a request does not wait behind messages. The supervisor answers when what
// the request asks for is done, and goes on meanwhile. The errors, and what they leave changed, are those of
// the functions of Supervisor with these names. If a child that was to start has ended first, the answer is
// kProcessTerminated, with the exit reason: the child does not run then, and is not started again, whatever its
// strategy.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <ergon/act/supervisor_spec.h>
#include <ergon/gen/args.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>

namespace ergon::act {

// Answered with the gen::PID of the child when it has started. `args` come after the arguments of the spec.
struct StartChildRequest {
  using Reply = gen::PID;
  gen::Atom name = {};
  gen::Args args = {};
};
// Answered with true when the child has ended. `pid` names the child if it is not empty, else `name` does.
struct TerminateChildRequest {
  using Reply = bool;
  gen::Atom name = {};
  gen::PID pid = {};
};
// Answered with the new gen::PID when the child has ended and has started again.
struct RestartChildRequest {
  using Reply = gen::PID;
  gen::Atom name = {};
};
// Answered with the gen::PID of the child when it has started; for a template with gen::PID().
struct EnableChildRequest {
  using Reply = gen::PID;
  gen::Atom name = {};
};
// Answered with true when the child has ended; for a template, when all children that it had have ended.
struct DisableChildRequest {
  using Reply = bool;
  gen::Atom name = {};
};
// Answered with the gen::PID of the child when it has started; for a template with gen::PID().
struct AddChildRequest {
  using Reply = gen::PID;
  SupervisorChildSpec spec = {};
};
// Answered with true when the child or template has been removed.
struct DeleteChildRequest {
  using Reply = bool;
  gen::Atom name = {};
};
enum class SupervisorChildState : std::uint8_t {
  kRunning,
  kStarting,  // its Init is not done yet
  kStopping,  // has been asked to end
  kWaiting,   // will be restarted when it is its turn, or when its back-off is over
  kEnded,     // has ended by itself, or by TerminateChild
  kDisabled,  // is disabled and has ended
};
// Returns the name, as in "running".
[[nodiscard]] std::string_view ToString(SupervisorChildState state);

struct SupervisorChild {
  gen::Atom name;
  gen::PID pid;  // PID() if there is no process
  SupervisorChildState state = SupervisorChildState::kEnded;
  std::uint64_t restarts = 0;
  bool significant = false;
};

// Answered with the children and their states, templates without their processes.
struct ChildrenRequest {
  using Reply = std::vector<SupervisorChild>;
};

}  // namespace ergon::act
