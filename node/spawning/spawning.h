// How processes come to be.
#pragma once

#include <functional>

#include <ergon/core/clock.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/pending_calls.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/names/registry.h>
#include <ergon/node/process_state/slot.h>
#include <ergon/node/spawning/behavior_levels.h>
#include <ergon/node/spawning/population.h>
#include <ergon/node/spawning/spawn_request.h>

namespace ergon::node {

// A process that is counted and has not begun. It ends with this, unless it is let go: what is still to be allocated for
// it may throw, and a node that stops would wait for it.
class UnbegunProcess {
 public:
  explicit UnbegunProcess(ProcessSlot& slot) : slot_(&slot) {}
  UnbegunProcess(const UnbegunProcess&) = delete;
  UnbegunProcess& operator=(const UnbegunProcess&) = delete;
  ~UnbegunProcess() {
    if (slot_ != nullptr) slot_->Abandon();
  }
  // From now on somebody will run it.
  void LetGo() { slot_ = nullptr; }

 private:
  ProcessSlot* slot_;
};

// Any thread.
class Spawning {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    Addresses& addresses;
    PendingCalls& pending_calls;
    Relations& relations;
    Registry& registry;
    ExitSignals& exit_signals;
    Population& population;
    const BehaviorLevels& behavior_levels;
    const core::Clock& clock;
  };
  explicit Spawning(const Needs& needs) : needs_(needs) {}

  // Makes a process in a fresh slot; the caller has the right to run it, or has to abandon it.
  gen::Result<ProcessSlot*> Open(const SpawnRequest& request);
  // Returns the process that has the name if it is ending: it has been killed, or its parent takes it along. If only one of
  // its ancestors is ending, with which it ends, that one; none: the empty PID.
  [[nodiscard]] gen::PID EndingHolderOf(gen::Atom name) const;
  // Returns whether `process` may wait for the end of that one. It must not for itself, nor for an ancestor, which may wait for
  // the end of its children; but for one that was killed, as that one waits for nobody.
  [[nodiscard]] bool MayWaitFor(gen::PID ending, gen::PID process) const;
  // Returns whether a process has the name.
  [[nodiscard]] bool IsTaken(gen::Atom name) const;
  // Starts a process. `done` is called when its Init has ended, with an error if that failed, maybe on another thread.
  // After an error returned here `done` is not called.
  gen::Result<gen::PID> StartInBackground(const SpawnRequest& request,
                                          std::function<void(gen::Result<void>)> done);

 private:
  const Needs needs_;
};

}  // namespace ergon::node
