// What a process has to know until its Init is done, and when it ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <new>

#include <ergon/gen/args.h>
#include <ergon/gen/error.h>
#include <ergon/gen/process_options.h>
#include <ergon/gen/reason.h>

namespace ergon::node {

struct Transition {
  gen::Args args;
  std::uint64_t ref = 0;  // by which the parent waits for the outcome; 0: it does not
  std::chrono::nanoseconds timeout = gen::kDefaultInitTimeout;
  bool late = false;  // its time was up: it is killed
  gen::Reason end_reason;
};

// Returns the time-out of a process with this request; null: the default.
[[nodiscard]] inline std::chrono::nanoseconds InitTimeoutOf(const Transition* init) noexcept {
  return init == nullptr ? gen::kDefaultInitTimeout : init->timeout;
}
[[nodiscard]] inline bool IsInitLate(const Transition* init) noexcept {
  return init != nullptr && init->late;
}
// Returns the error that the parent gets when Init has failed; without memory for the reason's text, only its code.
[[nodiscard]] inline gen::Error InitErrorOf(const Transition* init,
                                            const gen::Reason& reason) noexcept {
  const auto code =
      IsInitLate(init) ? gen::ErrorCode::kTimeout : gen::ErrorCode::kProcessTerminated;
  try {
    return gen::Error(code, reason.ToString());
  } catch (const std::bad_alloc&) {
    return gen::Error(code);
  }
}

}  // namespace ergon::node
