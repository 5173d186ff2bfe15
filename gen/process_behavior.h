// What a process does: the interface between the runtime and the behaviours of `act`.
#pragma once

#include <cstddef>
#include <new>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/args.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/status.h>

namespace ergon::gen {

class ProcessHost;

// All functions except BehaviorName are called inside turns of the process, one at a time. An exception that leaves one
// of them ends the process with the reason "panic: <what>". Users derive from a class of the layer act, as act::Actor.
class ProcessBehavior {
 public:
  ProcessBehavior() = default;
  ProcessBehavior(const ProcessBehavior&) = delete;
  ProcessBehavior& operator=(const ProcessBehavior&) = delete;
  virtual ~ProcessBehavior() = default;

  // A behaviour of up to 512 bytes is allocated from the memory of envelopes, which is quicker than the system's, for
  // processes that live briefly. A class with an alignment of its own gets its memory from the system.
  [[nodiscard]] static void* operator new(std::size_t bytes);
  [[nodiscard]] static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return ::operator new(bytes, alignment);
  }
  static void operator delete(void* memory, std::size_t bytes) noexcept;
  static void operator delete(void* memory, std::align_val_t alignment) noexcept {
    ::operator delete(memory, alignment);
  }

  // Is called first. `host` stays valid as long as the behaviour. Stop(reason) makes the spawn fail.
  virtual Status ProcessInit(ProcessHost& host, const Args& args) = 0;

  // Handles one envelope of any kind (envelope_kind.h), except those that the runtime handles itself. The runtime frees
  // the envelope afterwards; to keep it, call host.Detach(envelope).
  virtual Status ProcessMessage(core::Envelope& envelope) = 0;

  // Is called when the process is asked to end in order (an exit signal, StopAfterThis). Stop(reason) ends the process
  // now; Continue() delays the end: ProcessMessage is called until it returns Stop.
  virtual Status ProcessStop(const Reason& reason) { return Stop(reason); }

  // Is called last, exactly once, if ProcessInit has succeeded.
  virtual void ProcessTerminate(const Reason& reason) = 0;

  // Returns whether the behaviour takes all of its messages with Process::Receive: see ProcessFactory. Then ProcessRun
  // is called once, after ProcessInit, and the process ends with the Status that it returns. ProcessMessage is called
  // inside of Receive.
  [[nodiscard]] virtual bool Receives() const noexcept { return false; }
  virtual Status ProcessRun() { return Stop(Reason()); }

  // Returns the name of the user's class, for logs and inspection. Called by any thread at any time, also under a lock
  // of the process: it must not call into the process or the node. If it throws, which is told on standard error the
  // first time, the name of the class stands for it.
  [[nodiscard]] virtual std::string BehaviorName() const;
};

// Returns what BehaviorName returns, or the name of the class if that throws. For runtimes; any thread.
[[nodiscard]] std::string BehaviorNameOf(const ProcessBehavior& behavior);

}  // namespace ergon::gen
