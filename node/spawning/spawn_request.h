// What a spawn asks for.
#pragma once

#include <functional>

#include <ergon/gen/args.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_options.h>
#include <ergon/gen/trace.h>

namespace ergon::node {

struct SpawnRequest {
  const gen::ProcessFactory& factory;
  const gen::ProcessOptions& options;
  const gen::Args& args;
  gen::PID parent;
  gen::Atom name = {};
  bool link = false;
  bool heir = false;      // the parent inherits what is not handled
  bool announce = false;  // the parent gets a MessageStarted instead of waiting
  // For StartInBackground: called when the process is there and has not begun. Null: nothing is called.
  const std::function<void(gen::PID)>* opened = nullptr;
  gen::TraceId trace = 0;  // that its Init has; 0: that of the parent, if it has one
};
// Returns the name of the function that makes such a request and waits.
[[nodiscard, gnu::cold]] inline const char* FunctionThatSpawns(const SpawnRequest& request) {
  return request.name.empty() ? "Spawn" : "SpawnRegister";
}

}  // namespace ergon::node
