// A state machine without its type of states.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/process_api.h>
#include <ergon/act/state_event.h>
#include <ergon/act/state_table.h>
#include <ergon/act/state_transition.h>

namespace ergon::act {

class StateRunner;

// Users derive from StateMachine; its contract is there.
class StateMachineBase : public ProcessApi {
 public:
  StateMachineBase();
  ~StateMachineBase() override;

 protected:
  // First, with the arguments of the spawn: GoTo(the first state), with time-outs and events to
  // raise, or Stop(reason), which makes the spawn fail. So do a mistake in the table, the entry of
  // the first state and the handlers of what is raised, when they stop or throw.
  virtual Transition Init(const gen::Args& args) = 0;

  // Adds to the machine's own keys, which it cannot change. The default: nothing.
  virtual gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items);

  // Last, exactly once, if the spawn has succeeded.
  virtual void Terminate(const gen::Reason& reason);

  // -- what handlers return --

  // Stays in the state.
  static Transition Keep() { return Transition(Transition::Kind::kKeep); }
  // As Keep, but its entry handler is called again.
  static Transition Repeat() { return Transition(Transition::Kind::kRepeat); }
  // As Keep, with the event put aside until the state changes.
  static Transition Postpone() { return Keep().Postpone(); }
  // As gen::Stop, to add answers.
  static Transition Stop(gen::Reason reason) { return gen::Stop(std::move(reason)); }
  // As Keep; passes the request on to another process, which answers it. An error of Forward goes
  // to the caller.
  Transition Delegate(const gen::Target& to, StateEvent& event);
  // What becomes of an event that is not for this state: a warning is logged that names both, and a
  // request is answered with the error kUnsupported.
  Transition Unhandled(const StateEvent& event);

  // The name of the present state; empty before the first.
  [[nodiscard]] const std::string& StateName() const { return table_.NameOf(row()); }

  // -- for StateMachine --

  [[nodiscard]] StateTable& table() noexcept { return table_; }
  // The present state; StateTable::kNone before the first.
  [[nodiscard]] std::size_t row() const noexcept;

 private:
  // Postpone, and the change of the state, are the way to put aside here.
  using ProcessApi::Stash;
  using ProcessApi::UnstashAll;

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) final;
  gen::Status ProcessMessage(core::Envelope& envelope) final;
  void ProcessTerminate(const gen::Reason& reason) final;
  void Inspect(core::Envelope& envelope);

  StateTable table_;
  std::unique_ptr<StateRunner> runner_;  // from the end of Init on
};

}  // namespace ergon::act
