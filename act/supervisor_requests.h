// What others may ask of a supervisor, as in
//
//   auto pid = node.CallWithPriority<gen::PID>(root, act::StartChildRequest{"jobs"},
//                                              gen::MessagePriority::kHigh);
//
// Any priority will do; with kHigh a request does not wait behind messages. It is answered when what
// it asks for is done; the supervisor goes on meanwhile. Errors, which change nothing, are those of
// the functions of Supervisor with these names, and kProcessTerminated if a child that was to start
// has ended first, with its reason.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <ergon/act/supervisor_spec.h>
#include <ergon/gen/args.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>

namespace ergon::act {

// Answered with the gen::PID of the child when it has started. `args` come after those of the spec.
struct StartChildRequest {
  gen::Atom name = {};
  gen::Args args = {};
};
// Answered with true when the child has ended. By name, or by `pid` if that is not empty.
struct TerminateChildRequest {
  gen::Atom name = {};
  gen::PID pid = {};
};
// Answered with the new gen::PID when the child has ended and has started again.
struct RestartChildRequest {
  gen::Atom name = {};
};
// Answered with the gen::PID of the child when it has started; of a template with gen::PID().
struct EnableChildRequest {
  gen::Atom name = {};
};
// Answered with true when the child has ended, or all children that the template had.
struct DisableChildRequest {
  gen::Atom name = {};
};
// Answered with the gen::PID of the child when it has started; of a template with gen::PID().
struct AddChildRequest {
  SupervisorChildSpec spec = {};
};
// Answered with true.
struct DeleteChildRequest {
  gen::Atom name = {};
};
// Answered with a std::vector<SupervisorChild>.
struct ChildrenRequest {};

enum class SupervisorChildState : std::uint8_t {
  kRunning,
  kStarting,  // its Init is not done yet
  kStopping,  // has been asked to end
  kWaiting,   // will be restarted when it is its turn, or when its back-off is over
  kEnded,     // by itself, or by TerminateChild
  kDisabled,  // and ended
};
// As in "running".
[[nodiscard]] std::string_view ToString(SupervisorChildState state);

struct SupervisorChild {
  gen::Atom name;
  gen::PID pid;  // PID() if there is no process
  SupervisorChildState state = SupervisorChildState::kEnded;
  std::uint64_t restarts = 0;
  bool significant = false;
};

}  // namespace ergon::act
