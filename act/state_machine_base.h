// The part of a state machine that does not depend on the type of its states.
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
  // Called first, with the arguments of the spawn. Returns GoTo(the first state), with time-outs and events to
  // raise, or Stop(reason), which makes the spawn fail. The spawn also fails because of a mistake in the table,
  // or if the entry handler of the first state, or the handler of a raised event or of a time-out of 0, stops or
  // throws.
  virtual Transition Init(const gen::Args& args) = 0;

  // Adds keys to the machine's own keys, which it cannot change. The default adds nothing.
  virtual gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items);

  // Called last, exactly once, if the spawn has succeeded.
  virtual void Terminate(const gen::Reason& reason);

  // -- what handlers return --

  // Stays in the state.
  static Transition Keep() { return Transition(Transition::Kind::kKeep); }
  // Stays in the state and calls its entry handler again.
  static Transition Repeat() { return Transition(Transition::Kind::kRepeat); }
  // Stays in the state and stashes the event until the state changes.
  static Transition Postpone() { return Keep().Postpone(); }
  // Ends the machine, as gen::Stop; answers can be added.
  static Transition Stop(gen::Reason reason) { return gen::Stop(std::move(reason)); }
  static Transition Stop(const gen::Error& error) { return gen::Stop(error); }
  // Stays in the state and passes the request on to another process, which answers it. An error of Forward
  // goes to the caller. A message is passed on, too; there is nobody to tell of an error, so the log gets it.
  Transition Delegate(const gen::Target& to, StateEvent& event);
  // Stays in the state, which is not one for this event: logs a warning that names both, and answers a request with the
  // error kUnsupported. The log gets only some of these lines in each period (message_loop.h). An unhandled answer is
  // logged at debug level only.
  Transition Unhandled(const StateEvent& event);

  // Returns the name of the present state; empty before the first.
  [[nodiscard]] const std::string& StateName() const { return table_.NameOf(row()); }

  // -- for StateMachine --

  [[nodiscard]] StateTable& table() noexcept { return table_; }
  // Returns the row of the present state; StateTable::kNone before the first.
  [[nodiscard]] std::size_t row() const noexcept;

 private:
  // Not for state machines: use Postpone, which lasts until the state changes.
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
