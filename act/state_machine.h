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
// data. Handlers run one at a time, as an Actor's do, and may Call and Sleep. An exception that
// leaves a handler ends the process with the reason "panic: <what>". A request is answered in the
// transition (Reply), by a later transition (ReplyTo), or by SendResponse. If the machine ends without an
// answer, the caller gets an error at once.
//
// Order. The machine first handles raised events; then, after a change of the state, the events that were
// postponed before it, oldest first; then the mailbox. Messages of high and max priority overtake
// postponed events, and wait for raised ones. Events that were raised before a change of the state and are not handled
// yet come behind the postponed ones, and are overtaken as those are. A GoTo to the present state is a Keep: it changes
// nothing, so nothing is retried. A mailbox with an order of its own (Mailbox::Priority and the
// like) keeps this order among the messages that are retried; time-outs and postponed notices come first
// there.
//
// Postponed events count in ProcessOptions::stash_size: a message or request beyond it is dropped
// and counted, and a caller gets an error. The same happens to events that are still postponed when the machine ends;
// if the machine is a worker of a pool, other workers handle them. Requests whose callers' time is up are not
// retried. A postponed notice is handled even if the machine has ended its monitor or link meanwhile.
//
// Time-outs: see StateActions. The entry handler of a state is called when the state becomes the present
// one, before anything else is handled. At the start it gets the first state itself as the state that was left.
// Its actions come after those of the transition.
//
// Inspect answers, besides what HandleInspect adds:
//   state      the name of the present state
//   postponed  how many events wait for a change of the state
//   timeouts   the time-outs that are set, as in "state, event, probe"
template <class State>
class StateMachine : public StateMachineBase {
 protected:
  // Adds a row to the table of states: the handler of events in `state`, and the entry handler, which is called
  // with the state that was left when `state` is entered. Call it in the constructor or in Init. A state that is
  // in the table already makes the spawn fail.
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

  // Goes to another state. Throws std::logic_error if it is not in the table.
  [[nodiscard]] Transition GoTo(const State& state) const {
    const std::size_t row = RowOf(state);
    if (row == states_.size()) {
      std::string which = "a state";
      if constexpr (std::is_enum_v<State>) {
        which = "state " + std::to_string(static_cast<std::underlying_type_t<State>>(state));
      }
      throw std::logic_error("GoTo: " + which + " that is not in the table");
    }
    return Transition(Transition::Kind::kGoTo, row);
  }

  // Returns the present state. Throws std::logic_error in Init, where there is none yet.
  [[nodiscard]] const State& CurrentState() const {
    if (row() >= states_.size()) throw std::logic_error("CurrentState: there is none in Init");
    return states_[row()];
  }

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
