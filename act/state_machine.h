// A process that is always in one of a few states, each with handlers of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <ergon/act/state_machine_base.h>

namespace ergon::act {

//   enum class DoorState { kLocked, kClosed, kOpen };
//
//   class Door : public act::StateMachine<DoorState> {
//    public:
//     Door() {
//       In(DoorState::kLocked, "locked", &Door::Locked);
//       In(DoorState::kClosed, "closed", &Door::Closed, &Door::EnterClosed);
//       In(DoorState::kOpen, "open", &Door::Open);
//     }
//
//    private:
//     act::Transition Init(const gen::Args&) override { return GoTo(DoorState::kLocked); }
//
//     act::Transition Locked(act::StateEvent& event) {
//       if (event.Is<Push>()) return Postpone();  // handled as soon as the door is unlocked
//       if (auto* code = event.As<Code>()) {
//         if (code->digits != code_) return Keep().Reply(false);
//         return GoTo(DoorState::kClosed).Reply(true);
//       }
//       return Unhandled(event);
//     }
//     act::Entry EnterClosed(const DoorState&) { return act::Entry().StateTimeout(10s); }
//     act::Transition Closed(act::StateEvent& event) {
//       if (event.IsStateTimeout()) return GoTo(DoorState::kLocked);
//       ...
//
// A state is any value that can be compared with ==; the members of the class are the machine's
// data. Handlers run as an Actor's do, one at a time, and may Call and Sleep. An exception that
// leaves one ends the process with the reason "panic: <what>". A request is answered in the
// transition (Reply), by a later one (ReplyTo), or by SendResponse; should the machine end before,
// its caller is told at once.
//
// What is handled next. Events that were raised; then, after a change of the state, what was
// postponed before it, oldest first; then the mailbox. Messages of high and max priority overtake
// what is postponed, and wait for what is raised. GoTo the state it is in is Keep: it changes
// nothing, so nothing is retried. A mailbox with an order of its own (Mailbox::Priority and the
// like) keeps that among the messages that are retried; time-outs and postponed notices come first
// there.
//
// Postponed events count in ProcessOptions::stash_size: a message or request beyond it is dropped,
// and counted, and a caller told. So is what is still postponed when the machine ends; if it is a
// pool's worker, others handle it. Requests whose callers have stopped waiting are not retried.
//
// Time-outs: see StateActions. The entry handler of a state is called when it becomes the present
// one, also at the start (with the first state itself as the one that was left), before anything
// else is handled; its actions come after those of the transition.
//
// Inspection answers, besides what HandleInspect adds:
//   state      the name of the present state
//   postponed  events that wait for it to change
//   timeouts   those that are set, as in "state, event, probe"
template <class State>
class StateMachine : public StateMachineBase {
 protected:
  // A row of the table of states: what handles events in `state`, and what is called when it is
  // entered, with the state that was left. In the constructor, or in Init.
  void In(State state, std::string name, std::function<Transition(StateEvent&)> handler,
          std::function<Entry(const State& from)> entry = {}) {
    if (RowOf(state) != states_.size())
      table().SetProblem("state '" + name + "': must be in the table once");
    states_.push_back(std::move(state));
    StateTable::Row row{std::move(name), std::move(handler), {}};
    if (entry) {
      row.entry = [this, entry = std::move(entry)](std::size_t from) {
        return entry(states_[from]);
      };
    }
    table().Add(std::move(row));
  }
  template <class Machine>
  void In(State state, std::string name, Transition (Machine::*handler)(StateEvent&)) {
    In(std::move(state), std::move(name), Bind(handler));
  }
  template <class Machine>
  void In(State state, std::string name, Transition (Machine::*handler)(StateEvent&),
          Entry (Machine::*entry)(const State& from)) {
    In(std::move(state), std::move(name), Bind(handler),
       [this, entry](const State& from) { return (static_cast<Machine*>(this)->*entry)(from); });
  }

  // To another state. Throws std::logic_error if it is not in the table.
  [[nodiscard]] Transition GoTo(const State& state) const {
    const std::size_t row = RowOf(state);
    if (row == states_.size()) throw std::logic_error("GoTo: a state that is not in the table");
    return Transition(Transition::Kind::kGoTo, row);
  }

  // The present state; in Init there is none, and it throws std::out_of_range.
  [[nodiscard]] const State& CurrentState() const { return states_.at(row()); }

 private:
  [[nodiscard]] std::size_t RowOf(const State& state) const {
    return static_cast<std::size_t>(std::find(states_.begin(), states_.end(), state) -
                                    states_.begin());
  }
  template <class Machine>
  std::function<Transition(StateEvent&)> Bind(Transition (Machine::*handler)(StateEvent&)) {
    return [this, handler](StateEvent& event) {
      return (static_cast<Machine*>(this)->*handler)(event);
    };
  }

  std::deque<State> states_;  // in the order of the rows
};

}  // namespace ergon::act
