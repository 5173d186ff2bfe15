// What the error of a send says: the reason with which the message is counted, and whether its receiver has ended.
#pragma once

#include <ergon/gen/dropped_message.h>
#include <ergon/gen/error.h>

namespace ergon::gen {

// Returns the reason for what a send returned. Any thread.
[[nodiscard]] inline DropReason DropReasonOf(const Error& error) noexcept {
  switch (error.code()) {
    case ErrorCode::kProcessMailboxFull:
    case ErrorCode::kOverloaded:
    case ErrorCode::kTooManyCalls:
    case ErrorCode::kBusy:  // the way to another node is full
      return DropReason::kMailboxFull;
    case ErrorCode::kNoConnection:
      return DropReason::kNoConnection;
    case ErrorCode::kUnsupported:
    case ErrorCode::kIncorrect:  // a value that the other node cannot take
      return DropReason::kUnreadable;
    case ErrorCode::kInternal:  // the receiver's mailbox threw
      return DropReason::kFailed;
    default:
      return DropReason::kTerminated;
  }
}

// Returns whether the receiver has ended, so that the message was never for a process that runs. Any thread.
[[nodiscard]] inline bool HasReceiverEnded(const Error& error) noexcept {
  return error == ErrProcessTerminated || error == ErrProcessUnknown ||
         error == ErrProcessIncarnation;
}

}  // namespace ergon::gen
