// How processes come to be.
#pragma once

#include <chrono>
#include <cstdint>
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

// A process that is counted and has not begun. It ends with this, unless it is let go: what is still to be allocated
// for it may throw, and a node that stops would wait for it.
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
  // For a spawn that has found its name taken: returns whether to try once more. If who has the name is ending, such as
  // a child of a killed supervisor whose next incarnation `waiter` is, that end is awaited first, until `deadline`:
  // await_end(PID, time) returns whether it has come in that time. `waiter`: the process that waits; empty: a thread
  // outside.
  [[nodiscard]] bool AwaitName(
      gen::Atom name, gen::PID waiter, std::int64_t deadline,
      const std::function<bool(gen::PID, std::chrono::nanoseconds)>& await_end) const;
  // Starts a process. `done` is called when its Init has ended, with an error if that failed, maybe on another thread.
  // After an error returned here `done` is not called.
  gen::Result<gen::PID> StartInBackground(const SpawnRequest& request,
                                          std::function<void(gen::Result<void>)> done);

 private:
  // Returns the process that has the name if it is ending: it has been killed, or its parent takes it along. If only
  // one of its ancestors is ending, with which it ends, that one; none: the empty PID.
  [[nodiscard]] gen::PID EndingHolderOf(gen::Atom name) const;
  // Returns whether `process` may wait for the end of that one. It must not for itself, nor for an ancestor, which may
  // wait for the end of its children; but for one that was killed, as that one waits for nobody.
  [[nodiscard]] bool MayWaitFor(gen::PID ending, gen::PID process) const;

  const Needs needs_;
};

}  // namespace ergon::node
