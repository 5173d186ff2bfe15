// What a state machine handles.
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
  kMessage,       // a message, a down notice, or an exit signal (if SetTrapExit(true))
  kRequest,       // somebody waits for the answer
  kPublished,     // As<gen::MessageEvent>(): a value of an event that this process monitors
  kResponse,      // the outcome of a Request of this process
  kRaised,        // by Transition::Raise
  kStateTimeout,  // the last three: by those functions of Transition and Entry
  kEventTimeout,
  kNamedTimeout,
};

// Who waits for the answer to a request: to be kept, and answered from another state.
struct Caller {
  gen::PID from;
  gen::Ref ref;
};

// What a time-out carries that was set without a value.
struct NoValue {};

// A view of the event being handled; valid until the handler returns. Owned by the running process.
class StateEvent {
 public:
  StateEvent(StateEventKind kind, gen::PID from, gen::Ref ref, gen::Atom name,
             const gen::Message& value)
      : kind_(kind), name_(name), from_(from), ref_(ref), value_(value) {}

  [[nodiscard]] StateEventKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool IsRequest() const noexcept { return kind_ == StateEventKind::kRequest; }
  // The outcome of the Request that has returned this ref.
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

  // The value, whatever the kind: as in gen::Message. That of a response is what was answered or a
  // gen::Error.
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

  // The sender; nobody for time-outs and what was raised.
  [[nodiscard]] gen::PID from() const noexcept { return from_; }
  // Of a request, or of the answer to one.
  [[nodiscard]] gen::Ref ref() const noexcept { return ref_; }
  // Of a named time-out.
  [[nodiscard]] gen::Atom name() const noexcept { return name_; }
  // Throws std::logic_error if this is no request.
  [[nodiscard]] act::Caller Caller() const;
  // Throws std::logic_error if this is no answer.
  [[nodiscard]] gen::Response Response() const;
  // To Forward it.
  [[nodiscard]] gen::Message& message() noexcept { return value_; }

  // For logs, as in "request Push from <test@localhost.12.1>" or "time-out 'probe'".
  [[nodiscard]] std::string ToString() const;
  // The value's type as written in C++.
  [[nodiscard]] std::string TypeName() const { return value_.TypeName(); }
  // As gen::Message::Describe.
  [[nodiscard]] std::string Describe() const { return value_.Describe(); }

 private:
  StateEventKind kind_;
  gen::Atom name_;
  gen::PID from_;
  gen::Ref ref_;
  gen::Message value_;
};

// An event that the machine itself keeps: raised, a time-out, or a postponed notice or answer.
struct OwnStateEvent {
  StateEventKind kind = StateEventKind::kRaised;
  gen::Atom name = {};
  gen::PID from = {};
  gen::Ref ref = {};
  gen::OwnedMessage value = {};
};

}  // namespace ergon::act
