// A state machine without its type of states: does what handlers decide, on a ProcessHost.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/process_api.h>
#include <ergon/act/state_event.h>
#include <ergon/act/state_queue.h>
#include <ergon/act/state_timeouts.h>
#include <ergon/act/state_transition.h>

namespace ergon::act {

// Users derive from StateMachine; its contract is there. States are numbers here: rows of the
// table.
class StateMachineBase : public ProcessApi {
 public:
  StateMachineBase() = default;
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
  [[nodiscard]] const std::string& StateName() const;

  // -- for StateMachine --

  using Handler = std::function<Transition(StateEvent&)>;
  using EntryHandler = std::function<Entry(std::size_t from)>;
  struct Row {
    std::string name;
    Handler handler;
    EntryHandler entry;  // empty: none
  };
  void AddRow(Row row) { rows_.push_back(std::move(row)); }
  // A mistake in the table: the spawn will fail with this text.
  void SetProblem(std::string problem);
  [[nodiscard]] std::size_t row() const noexcept { return row_; }

 private:
  // Postpone, and the change of the state, are the way to put aside here.
  using ProcessApi::Stash;
  using ProcessApi::UnstashAll;

  // The event being handled, and what holds it: an envelope of the mailbox, or one of its own.
  struct Current {
    StateEvent& event;
    core::Envelope* envelope;
    OwnStateEvent* own;
  };

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) final;
  gen::Status ProcessMessage(core::Envelope& envelope) final;
  void ProcessTerminate(const gen::Reason& reason) final;

  // What is wrong with the table or with what Init has returned; empty if nothing is.
  [[nodiscard]] std::string Check(const Transition& first) const;
  gen::Status HandleEnvelope(core::Envelope& envelope, StateEventKind kind);
  gen::Status HandleResponse(core::Envelope& envelope);
  gen::Status HandleOwnEnvelope(core::Envelope& envelope);
  gen::Status HandleOwn(OwnStateEvent own);
  gen::Status Handle(const Current& current);
  // Does what a handler wants; `current` is null after Init.
  gen::Status Follow(Transition transition, const Current* current);
  // Calls the entry handler of the present state; adds to `timeouts`.
  gen::Status Enter(std::size_t from, std::vector<TimeoutChange>& timeouts);
  // Handles what comes before the mailbox.
  gen::Status HandleRaised(gen::Status status);
  void PutAside(const Current& current);
  void RetryPostponed();
  void SendReplies(std::vector<StateReply>& replies, const Current* current);
  void RunTimers();
  void ForgetTimer(StateTimeouts::Id id, bool cancel);
  void Inspect(core::Envelope& envelope);

  std::vector<Row> rows_;
  std::string problem_;
  std::size_t row_ = kNone;
  StateQueue queue_;
  StateTimeouts timeouts_;
  std::vector<std::pair<StateTimeouts::Id, gen::TimerHandle>> timers_;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
};

}  // namespace ergon::act
