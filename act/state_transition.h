// What the handlers of a state machine return: the next state, and what to do on the way.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ergon/act/state_event.h>
#include <ergon/gen/error.h>
#include <ergon/gen/status.h>

namespace ergon::act {

// An answer to a request.
struct StateResponse {
  std::optional<Caller> to;  // none: the sender of the event being handled
  core::EnvelopePtr response;
};

// Names a time-out: there is one for the state, one for the next event, and any number with names.
struct TimeoutKey {
  StateEventKind kind = StateEventKind::kStateTimeout;
  gen::Atom name = {};
  friend auto operator<=>(const TimeoutKey&, const TimeoutKey&) = default;
};

// What a handler wants to do with a time-out.
struct TimeoutChange {
  enum class What : std::uint8_t {
    kSet,     // it fires after `delay`, with `value`; a running one is replaced
    kUpdate,  // the running one gets another value; if there is none, it fires at once
    kCancel,
  };
  What what = What::kCancel;
  TimeoutKey key = {};
  std::chrono::nanoseconds delay{0};
  gen::OwnedMessage value = {};
};

namespace detail {
template <class T>
gen::OwnedMessage OwnValue(T&& value) {
  return gen::OwnedMessage(core::MakeEnvelope<gen::StoredType<T>>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kOwnTimer), core::Lane::kUrgent,
      std::forward<T>(value)));
}
}  // namespace detail

// Answers and time-outs, which Transition and Entry have in common. The functions can be chained,
// `return Keep().Reply(1).StateTimeout(5s)`, or called one by one.
//
// A time-out becomes an event of the machine that carries `value`; StateEvent::IsStateTimeout and the like
// recognize it. Its delay counts from the end of the handler. A time-out with a delay of 0 or less is handled
// as soon as none of the machine's own events waits, before what waits in the mailbox. Other time-outs wait
// behind what is in the mailbox when they fire. Setting a time-out that is running replaces it. A delay of
// gen::kInfinite means never: it cancels the time-out. If one handler changes the same time-out several times, the
// last change counts. A cancelled time-out is not handled, even if it had fired already.
template <class Derived>
class StateActions {
 public:
  // Answers a request that was handled before; see StateEvent::Caller.
  template <class T>
  Derived&& ReplyTo(const Caller& caller, T&& value) {
    responses_.push_back({caller, gen::detail::MakeResponse(std::forward<T>(value))});
    return Self();
  }
  Derived&& ReplyErrorTo(const Caller& caller, gen::Error error) {
    responses_.push_back({caller, gen::detail::MakeErrorResponse(std::move(error))});
    return Self();
  }

  // Sets the state time-out, which runs until the state changes.
  template <class T = NoValue>
  Derived&& StateTimeout(std::chrono::nanoseconds delay, T&& value = {}) {
    return Set({StateEventKind::kStateTimeout}, delay, std::forward<T>(value));
  }
  template <class T>
  Derived&& UpdateStateTimeout(T&& value) {
    return Update({StateEventKind::kStateTimeout}, std::forward<T>(value));
  }
  Derived&& CancelStateTimeout() { return Cancel({StateEventKind::kStateTimeout}); }

  // Sets the event time-out, which runs until any event is handled.
  template <class T = NoValue>
  Derived&& EventTimeout(std::chrono::nanoseconds delay, T&& value = {}) {
    return Set({StateEventKind::kEventTimeout}, delay, std::forward<T>(value));
  }

  // Sets a named time-out, which runs until it fires or is cancelled. There may be any number of names.
  template <class T = NoValue>
  Derived&& Timeout(gen::Atom name, std::chrono::nanoseconds delay, T&& value = {}) {
    return Set({StateEventKind::kNamedTimeout, name}, delay, std::forward<T>(value));
  }
  // Gives a running time-out another value and leaves its time as it is. If it does not run, it fires at once.
  template <class T>
  Derived&& UpdateTimeout(gen::Atom name, T&& value) {
    return Update({StateEventKind::kNamedTimeout, name}, std::forward<T>(value));
  }
  Derived&& CancelTimeout(gen::Atom name) { return Cancel({StateEventKind::kNamedTimeout, name}); }

  // -- for the machine --

  [[nodiscard]] const gen::Status& status() const noexcept { return status_; }
  [[nodiscard]] std::vector<StateResponse>& responses() noexcept { return responses_; }
  [[nodiscard]] std::vector<TimeoutChange>& timeouts() noexcept { return timeouts_; }

 protected:
  StateActions() = default;
  explicit StateActions(gen::detail::StopRequest stop) : status_(std::move(stop)) {}

  Derived&& Self() noexcept { return static_cast<Derived&&>(*this); }
  Derived&& AddResponse(core::EnvelopePtr response) {
    responses_.push_back({std::nullopt, std::move(response)});
    return Self();
  }

 private:
  template <class T>
  Derived&& Set(const TimeoutKey& key, std::chrono::nanoseconds delay, T&& value) {
    if (delay == std::chrono::nanoseconds::max()) return Cancel(key);
    timeouts_.push_back(
        {TimeoutChange::What::kSet, key, delay, detail::OwnValue(std::forward<T>(value))});
    return Self();
  }
  template <class T>
  Derived&& Update(const TimeoutKey& key, T&& value) {
    timeouts_.push_back(
        {TimeoutChange::What::kUpdate, key, {}, detail::OwnValue(std::forward<T>(value))});
    return Self();
  }
  Derived&& Cancel(const TimeoutKey& key) {
    timeouts_.push_back({TimeoutChange::What::kCancel, key, {}, {}});
    return Self();
  }

  gen::Status status_;
  std::vector<StateResponse> responses_;
  std::vector<TimeoutChange> timeouts_;
};

// The result of an event handler: GoTo(state), Keep() or Repeat() of the machine, or
// gen::Stop(reason), with actions. Answers are sent first, also when the machine stops.
class [[nodiscard]] Transition : public StateActions<Transition> {
 public:
  enum class Kind : std::uint8_t { kKeep, kGoTo, kRepeat };

  explicit Transition(Kind kind, std::size_t state = 0) : kind_(kind), state_(state) {}
  Transition(gen::detail::StopRequest stop)  // NOLINT(google-explicit-constructor): as gen::Status
      : StateActions(std::move(stop)) {}

  // Answers the request being handled. If the event is a message, nobody waits: the answer is dropped, and the log says
  // so.
  template <class T>
  Transition&& Reply(T&& value) {
    return AddResponse(gen::detail::MakeResponse(std::forward<T>(value)));
  }
  Transition&& ReplyError(gen::Error error) {
    return AddResponse(gen::detail::MakeErrorResponse(std::move(error)));
  }
  // Stashes the event being handled until the state changes; see StateMachine.
  Transition&& Postpone() {
    postpones_ = true;
    return Self();
  }
  // Adds an event of the machine's own, which is handled next. Several are handled in the order of the calls.
  template <class T>
  Transition&& Raise(T&& value) {
    raised_.push_back(
        {.kind = StateEventKind::kRaised, .value = detail::OwnValue(std::forward<T>(value))});
    return Self();
  }

  // -- for the machine --

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t state() const noexcept { return state_; }
  [[nodiscard]] bool postpones() const noexcept { return postpones_; }
  [[nodiscard]] std::vector<OwnStateEvent>& raised() noexcept { return raised_; }

 private:
  Kind kind_ = Kind::kKeep;
  std::size_t state_ = 0;  // with kGoTo: its row in the table
  bool postpones_ = false;
  std::vector<OwnStateEvent> raised_;
};

// The result of an entry handler: Entry(), or gen::Stop(reason), with actions. An entry handler cannot go to
// another state; to do so at once, set a StateTimeout of 0.
class [[nodiscard]] Entry : public StateActions<Entry> {
 public:
  Entry() = default;
  Entry(gen::detail::StopRequest stop)  // NOLINT(google-explicit-constructor): as gen::Status
      : StateActions(std::move(stop)) {}
};

}  // namespace ergon::act
