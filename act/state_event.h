// The events that a state machine handles.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/message.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/response.h>

namespace ergon::act {

enum class StateEventKind : std::uint8_t {
  kMessage,       // a message, a down notice, or an exit signal (after SetTrapExit(true))
  kRequest,       // a request; its caller waits for the answer
  kPublished,     // As<gen::MessageEvent>(): a value of an event that this process monitors
  kResponse,      // the outcome of a Request of this process
  kRaised,        // by Transition::Raise
  kStateTimeout,  // the last three: time-outs that Transition or Entry has set
  kEventTimeout,
  kNamedTimeout,
};

// The caller that waits for the answer to a request. Keep it to answer from another state.
struct Caller {
  gen::PID from;
  gen::Ref ref;
};

// The value of a time-out that was set without one.
struct NoValue {};

// A view of the event being handled; valid until the handler returns. Owned by the running process.
class StateEvent {
 public:
  StateEvent(StateEventKind kind, gen::PID from, gen::Ref ref, gen::Atom name,
             const gen::Message& value)
      : kind_(kind), name_(name), from_(from), ref_(ref), value_(value) {}

  [[nodiscard]] StateEventKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool IsRequest() const noexcept { return kind_ == StateEventKind::kRequest; }
  // Returns whether this is the outcome of the Request that has returned `ref`.
  [[nodiscard]] bool IsResponse(gen::Ref ref) const noexcept {
    return kind_ == StateEventKind::kResponse && ref_ == ref;
  }
  [[nodiscard]] bool IsStateTimeout() const noexcept {
    return kind_ == StateEventKind::kStateTimeout;
  }
  [[nodiscard]] bool IsEventTimeout() const noexcept {
    return kind_ == StateEventKind::kEventTimeout;
  }
  [[nodiscard]] bool IsTimeout(gen::Atom name) const noexcept {
    return kind_ == StateEventKind::kNamedTimeout && name_ == name;
  }

  // These four read the value, whatever the kind, as gen::Message does. The value of a response is the answer
  // or a gen::Error.
  template <class T>
  [[nodiscard]] bool Is() const noexcept {
    return value_.Is<T>();
  }
  template <class T>
  [[nodiscard]] T* As() noexcept {
    return value_.As<T>();
  }
  template <class T>
  [[nodiscard]] const T* As() const noexcept {
    return value_.As<T>();
  }
  template <class T>
  [[nodiscard]] T Take() {
    return value_.Take<T>();
  }

  // Returns the sender; the empty PID for time-outs and raised events.
  [[nodiscard]] gen::PID from() const noexcept { return from_; }
  // Returns the ref of a request, or of the answer to one.
  [[nodiscard]] gen::Ref ref() const noexcept { return ref_; }
  // Returns the name of a named time-out.
  [[nodiscard]] gen::Atom name() const noexcept { return name_; }
  // Returns the caller of a request. Throws std::logic_error if this is not a request.
  [[nodiscard]] act::Caller Caller() const;
  // Returns the answer. Throws std::logic_error if this is not an answer.
  [[nodiscard]] gen::Response Response() const;
  // Returns the message, to Forward it.
  [[nodiscard]] gen::Message& message() noexcept { return value_; }
  // Returns whether Take, here or of the answer, has moved the value out. Then the event cannot be postponed.
  [[nodiscard]] bool taken() const noexcept { return value_.taken() || is_answer_taken_; }

  // Returns a text for logs, as in "request Push from <test@localhost.12.1>" or "time-out 'probe'".
  [[nodiscard]] std::string ToString() const;
  // Returns what the value's type calls itself, as gen::Message::TypeName does.
  [[nodiscard]] std::string TypeName() const { return value_.TypeName(); }
  // As gen::Message::Describe.
  [[nodiscard]] std::string Describe() const { return value_.Describe(); }

 private:
  StateEventKind kind_;
  gen::Atom name_;
  gen::PID from_;
  gen::Ref ref_;
  gen::Message value_;
  mutable bool is_answer_taken_ = false;  // the view that Response returns may move it out
};

// An event that the machine itself keeps: a raised event, a time-out, or a postponed notice or answer.
struct OwnStateEvent {
  StateEventKind kind = StateEventKind::kRaised;
  gen::Atom name = {};
  gen::PID from = {};
  gen::Ref ref = {};
  gen::OwnedMessage value = {};
};

}  // namespace ergon::act
