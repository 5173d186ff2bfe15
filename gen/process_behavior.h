// What a process does: the interface between the runtime and the behaviours of `act`.
#pragma once

#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/args.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/status.h>

namespace ergon::gen {

class ProcessHost;

// All functions but BehaviorName are called inside turns of the process, one at a time. An
// exception that leaves one ends the process with the reason "panic: <what>". Users derive from
// act::Actor or act::Pool instead.
class ProcessBehavior {
 public:
  ProcessBehavior() = default;
  ProcessBehavior(const ProcessBehavior&) = delete;
  ProcessBehavior& operator=(const ProcessBehavior&) = delete;
  virtual ~ProcessBehavior() = default;

  // First. `host` stays valid as long as the behaviour. Stop(reason) makes the spawn fail.
  virtual Status ProcessInit(ProcessHost& host, const Args& args) = 0;

  // One envelope of any kind (envelope_kind.h), except what the runtime handles itself. The runtime
  // frees it afterwards; to keep it, call host.Detach(envelope).
  virtual Status ProcessMessage(core::Envelope& envelope) = 0;

  // The process is asked to end in order (an exit signal, StopAfterThis). Stop(reason) ends it now;
  // Continue() delays the end: ProcessMessage goes on being called until it returns Stop.
  virtual Status ProcessStop(const Reason& reason) { return Stop(reason); }

  // Last, exactly once, if ProcessInit has succeeded.
  virtual void ProcessTerminate(const Reason& reason) = 0;

  // Whether it takes its messages with Process::Receive, all of them: see ProcessFactory. Then ProcessRun is
  // called once, after ProcessInit, and the process ends with what that returns. ProcessMessage is called
  // inside of Receive.
  [[nodiscard]] virtual bool Receives() const noexcept { return false; }
  virtual Status ProcessRun() { return Stop(Reason()); }

  // A user's class name, for logs and inspection. Called by any thread at any time, also under a
  // lock of the process: it must not call into the process or the node.
  [[nodiscard]] virtual std::string BehaviorName() const;
};

}  // namespace ergon::gen
