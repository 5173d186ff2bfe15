// What the handlers of a state machine return: where to go, and what to do on the way.
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
  std::optional<Caller> to;  // none: who sent the event being handled
  core::EnvelopePtr response;
};

// One for the state, one for the next event, and any number with names.
struct TimeoutKey {
  StateEventKind kind = StateEventKind::kStateTimeout;
  gen::Atom name = {};
  friend bool operator==(const TimeoutKey&, const TimeoutKey&) = default;
};

// What a handler wants of a time-out.
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
// `return Keep().Reply(1).StateTimeout(5s)`, and called one by one.
//
// A time-out becomes an event of the machine, which is told by StateEvent::IsStateTimeout and the
// like, and carries `value`. Its delay counts from the end of the handler; 0 or less: it is handled
// as soon as none of the machine's own events waits, before what waits in the mailbox. Others wait
// behind what is in the mailbox when they fire. To set one that is running replaces it, and so does
// gen::kInfinite, which means never; of several changes of one time-out in one handler the last
// counts. One that was cancelled is not handled, even if it had fired already.
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

  // The state time-out: until the state changes.
  template <class T = NoValue>
  Derived&& StateTimeout(std::chrono::nanoseconds delay, T&& value = {}) {
    return Set({StateEventKind::kStateTimeout}, delay, std::forward<T>(value));
  }
  template <class T>
  Derived&& UpdateStateTimeout(T&& value) {
    return Update({StateEventKind::kStateTimeout}, std::forward<T>(value));
  }
  Derived&& CancelStateTimeout() { return Cancel({StateEventKind::kStateTimeout}); }

  // The event time-out: until any event is handled.
  template <class T = NoValue>
  Derived&& EventTimeout(std::chrono::nanoseconds delay, T&& value = {}) {
    return Set({StateEventKind::kEventTimeout}, delay, std::forward<T>(value));
  }

  // Named time-outs, any number: until they fire or are cancelled.
  template <class T = NoValue>
  Derived&& Timeout(gen::Atom name, std::chrono::nanoseconds delay, T&& value = {}) {
    return Set({StateEventKind::kNamedTimeout, name}, delay, std::forward<T>(value));
  }
  // Gives a running time-out another value, at the same time; if it does not run, it fires at once.
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

// The result of a handler of events: GoTo(state), Keep() or Repeat() of the machine, or
// gen::Stop(reason), with actions. Answers are sent first, also when the machine stops.
class [[nodiscard]] Transition : public StateActions<Transition> {
 public:
  enum class Kind : std::uint8_t { kKeep, kGoTo, kRepeat };

  explicit Transition(Kind kind, std::size_t state = 0) : kind_(kind), state_(state) {}
  Transition(gen::detail::StopRequest stop)  // NOLINT(google-explicit-constructor): as gen::Status
      : StateActions(std::move(stop)) {}

  // Answers the request being handled.
  template <class T>
  Transition&& Reply(T&& value) {
    return AddResponse(gen::detail::MakeResponse(std::forward<T>(value)));
  }
  Transition&& ReplyError(gen::Error error) {
    return AddResponse(gen::detail::MakeErrorResponse(std::move(error)));
  }
  // Puts the event being handled aside until the state changes; see StateMachine.
  Transition&& Postpone() {
    postpones_ = true;
    return Self();
  }
  // An event of the machine's own, to be handled next; several in this order.
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

// The result of a handler that is called when a state is entered: Entry(), or gen::Stop(reason),
// with actions. It cannot go elsewhere; to do that at once, set a StateTimeout of 0.
class [[nodiscard]] Entry : public StateActions<Entry> {
 public:
  Entry() = default;
  Entry(gen::detail::StopRequest stop)  // NOLINT(google-explicit-constructor): as gen::Status
      : StateActions(std::move(stop)) {}
};

}  // namespace ergon::act
