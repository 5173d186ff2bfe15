// What a Result throws if it is asked for what it does not have.
#pragma once

#include <stdexcept>
#include <utility>

#include <ergon/gen/error.h>

namespace ergon::gen {

// Thrown by value(), `*` and `->` of a Result without a value; what() is the error's text. In a
// handler it ends the process with the reason "panic: <text>".
class BadResult : public std::runtime_error {
 public:
  explicit BadResult(Error error)
      : std::runtime_error(error.ToString()), error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

// Out of line: callers that have checked the result first pay nothing for them.
[[noreturn]] void ThrowBadResult(const Error& error);
// Throws std::logic_error: calling error() on a result that has a value is a mistake of the caller's.
[[noreturn]] void ThrowHasNoError();

}  // namespace ergon::gen
