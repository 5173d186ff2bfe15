// A state machine at work: brings events to the handlers of the present state, and does what the handlers return.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <ergon/act/state_machine/queue.h>
#include <ergon/act/state_machine/timeouts.h>
#include <ergon/act/state_table.h>
#include <ergon/core/foundations/keyed_list.h>
#include <ergon/gen/host/limited_lines.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/timer_handle.h>

namespace ergon::act {

class StateRunner {
 public:
  // Both arguments outlive it.
  StateRunner(gen::ProcessHost& host, const StateTable& table) : host_(host), table_(table) {}
  // Cancels its timers.
  ~StateRunner();
  StateRunner(const StateRunner&) = delete;
  StateRunner& operator=(const StateRunner&) = delete;

  // Enters the first state.
  gen::Status Start(Transition first);
  // Handles one envelope of any kind except kInspect, and then the events that come before the mailbox.
  gen::Status OnEnvelope(core::Envelope& envelope);

  // Returns the row of the present state; StateTable::kNone before the first.
  [[nodiscard]] std::size_t row() const noexcept { return row_; }
  // Adds the machine's own keys; see StateMachine.
  void Describe(gen::Inspection& inspection) const;
  // At the end of the process: tells how many lines of the log were left out last.
  void TellRest() const {
    dropped_lines_.TellRest(host_, "events that could not be postponed");
    unasked_lines_.TellRest(host_, "answers to events that are no requests");
  }

 private:
  // The event being handled, and what holds it: an envelope of the mailbox, or one of its own.
  struct Current {
    StateEvent& event;
    core::Envelope* envelope;
    OwnStateEvent* own;
  };
  struct Timer {
    StateTimeouts::Id id = 0;
    gen::TimerHandle handle;
  };
  struct IdOf {
    StateTimeouts::Id operator()(const Timer& timer) const { return timer.id; }
  };

  gen::Status Dispatch(core::Envelope& envelope);
  gen::Status HandleEnvelope(core::Envelope& envelope, StateEventKind kind);
  gen::Status HandleResponse(core::Envelope& envelope);
  gen::Status HandleOwnEnvelope(core::Envelope& envelope);
  gen::Status HandleOwn(OwnStateEvent own);
  gen::Status Handle(const Current& current);
  // Does what a handler has returned. `current` is null after Init.
  gen::Status Follow(Transition transition, const Current* current);
  // Calls the entry handler of the present state; adds to `timeouts`.
  gen::Status Enter(std::size_t from, std::vector<TimeoutChange>& timeouts);
  // Handles the events that come before the mailbox.
  gen::Status HandleRaised(gen::Status status);
  void Postpone(const Current& current);
  void RetryPostponed();
  void SendResponses(std::vector<StateResponse>& responses, const Current* current);
  void RunTimers();
  void ForgetTimer(StateTimeouts::Id id, bool cancel);

  gen::ProcessHost& host_;
  const StateTable& table_;
  std::size_t row_ = StateTable::kNone;
  StateQueue queue_;
  StateTimeouts timeouts_;
  core::KeyedList<Timer, IdOf> timers_;
  gen::LimitedLines dropped_lines_;
  gen::LimitedLines unasked_lines_;
};

}  // namespace ergon::act
