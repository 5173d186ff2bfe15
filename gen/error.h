// What can go wrong, as a value: a code to compare with and a text that says what happened.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <ergon/gen/atom.h>
#include <ergon/gen/formatter.h>

namespace ergon::gen {

enum class ErrorCode : std::uint8_t {
  kProcessUnknown,      // no such process, name or alias
  kProcessTerminated,   // the process has ended, or ended before it answered
  kProcessMailboxFull,  // the bound of its mailbox is reached; try later or elsewhere
  kProcessIncarnation,  // the PID belongs to a former incarnation of the node
  kTimeout,             // no answer in time
  kNotAllowed,          // not in this state, or not from this thread
  kTaken,               // another one has the name already
  kIncorrect,           // an argument or option; the text names it and its value
  kUnsupported,         // understood, but not possible here
  kResponseIgnored,     // the caller does not wait for this answer (any more)
  kUnexpectedType,      // the answer has another type than the caller asked for
  kTooManyCalls,        // no stack left for one more blocked call
  kNodeTerminated,      // the node is stopping or stopped
  kNoConnection,        // another node cannot be reached
  kDeadlock,            // the call would wait for itself; the text names the processes in between
  kInternal,            // a defect of this library or a resource that ran out
  kApplication,         // the user's own (see SendResponseError)
  kOverloaded,          // the message would wait too long there; RetryAfter says when to try again
  kChildRunning,        // a supervisor's child that runs already, or has not ended yet
  kChildDisabled,       // a supervisor's child that is disabled
  kBusy,                // too much waits to go to that node already; try later
};

// Errors compare by code; the detail is for people. Errors of the user's own (kApplication) compare by their texts or
// atoms, too: `result.error() == gen::Error("circuit open")`.
class Error {
 public:
  constexpr explicit Error(ErrorCode code) noexcept : code_(code) {}
  Error(ErrorCode code, std::string detail)
      : code_(code), detail_(std::make_shared<const std::string>(std::move(detail))) {}
  // An error of the user's own. To an Erlang node a text goes as a binary, whatever it looks like, because that node
  // keeps every atom for ever. An atom goes as an atom, and is for names that a program has few of.
  explicit Error(std::string text) : Error(ErrorCode::kApplication, std::move(text)) {}
  template <std::same_as<Atom> Name>
  explicit Error(Name name) noexcept : code_(ErrorCode::kApplication), atom_(name) {}

  // Returns kOverloaded, with the hint in its text too: "pool is overloaded: retry after 35 ms".
  [[nodiscard]] static Error Overloaded(std::chrono::nanoseconds retry_after);

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  // Returns how long to wait before trying again; 0: not known.
  [[nodiscard]] std::chrono::nanoseconds RetryAfter() const noexcept { return retry_after_; }
  [[nodiscard]] std::string_view detail() const noexcept {
    return detail_ ? std::string_view(*detail_) : atom_.Text();
  }
  // Returns the atom that the user's error was made of, or the empty atom.
  [[nodiscard]] Atom AsAtom() const noexcept { return atom_; }
  // As in "process mailbox is full" or "process terminated: panic: division by zero".
  [[nodiscard]] std::string ToString() const;

  friend bool operator==(const Error& left, const Error& right) noexcept {
    if (left.code_ != right.code_) return false;
    return left.code_ != ErrorCode::kApplication || left.detail() == right.detail();
  }

 private:
  ErrorCode code_;
  Atom atom_;
  std::chrono::nanoseconds retry_after_{0};
  std::shared_ptr<const std::string> detail_;
};

// To compare with, as in `result.error() == gen::ErrTimeout`, and to answer with.
inline constinit const Error ErrProcessUnknown{ErrorCode::kProcessUnknown};
inline constinit const Error ErrProcessTerminated{ErrorCode::kProcessTerminated};
inline constinit const Error ErrProcessMailboxFull{ErrorCode::kProcessMailboxFull};
inline constinit const Error ErrProcessIncarnation{ErrorCode::kProcessIncarnation};
inline constinit const Error ErrTimeout{ErrorCode::kTimeout};
inline constinit const Error ErrNotAllowed{ErrorCode::kNotAllowed};
inline constinit const Error ErrTaken{ErrorCode::kTaken};
inline constinit const Error ErrIncorrect{ErrorCode::kIncorrect};
inline constinit const Error ErrUnsupported{ErrorCode::kUnsupported};
inline constinit const Error ErrResponseIgnored{ErrorCode::kResponseIgnored};
inline constinit const Error ErrUnexpectedType{ErrorCode::kUnexpectedType};
inline constinit const Error ErrTooManyCalls{ErrorCode::kTooManyCalls};
inline constinit const Error ErrNodeTerminated{ErrorCode::kNodeTerminated};
inline constinit const Error ErrNoConnection{ErrorCode::kNoConnection};
inline constinit const Error ErrDeadlock{ErrorCode::kDeadlock};
inline constinit const Error ErrOverloaded{ErrorCode::kOverloaded};
inline constinit const Error ErrChildRunning{ErrorCode::kChildRunning};
inline constinit const Error ErrChildDisabled{ErrorCode::kChildDisabled};
inline constinit const Error ErrBusy{ErrorCode::kBusy};

}  // namespace ergon::gen

template <>
struct fmt::formatter<ergon::gen::Error> : ergon::gen::detail::FormatterOf<ergon::gen::Error> {};
