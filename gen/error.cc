#include <ergon/gen/error.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/core/foundations/thrown_text.h>

namespace ergon::gen {
namespace {

// For who throws an error that a function has returned.
std::string TextOfThrownError() {
  try {
    throw;
  } catch (const Error& error) {
    return error.ToString();
  } catch (...) {
    return {};
  }
}
[[maybe_unused]] const bool kIsTextKnown = [] {
  core::SetTextOfThrown(&TextOfThrownError);
  return true;
}();

std::string_view TextOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kProcessUnknown:
      return "process is unknown";
    case ErrorCode::kProcessTerminated:
      return "process terminated";
    case ErrorCode::kProcessMailboxFull:
      return "process mailbox is full";
    case ErrorCode::kProcessIncarnation:
      return "process belongs to a former incarnation of the node";
    case ErrorCode::kTimeout:
      return "timed out";
    case ErrorCode::kNotAllowed:
      return "not allowed";
    case ErrorCode::kTaken:
      return "name is taken";
    case ErrorCode::kIncorrect:
      return "incorrect value";
    case ErrorCode::kUnsupported:
      return "not supported";
    case ErrorCode::kResponseIgnored:
      return "response ignored";
    case ErrorCode::kUnexpectedType:
      return "answer of an unexpected type";
    case ErrorCode::kTooManyCalls:
      return "too many blocked calls";
    case ErrorCode::kNodeTerminated:
      return "node terminated";
    case ErrorCode::kNoConnection:
      return "no connection";
    case ErrorCode::kDeadlock:
      return "deadlock";
    case ErrorCode::kInternal:
      return "internal error";
    case ErrorCode::kApplication:
      return "";
    case ErrorCode::kOverloaded:
      return "pool is overloaded";
    case ErrorCode::kChildRunning:
      return "child is running";
    case ErrorCode::kChildDisabled:
      return "child is disabled";
    case ErrorCode::kBusy:
      return "busy";
  }
  return "unknown error";
}

}  // namespace

Error Error::Overloaded(std::chrono::nanoseconds retry_after) {
  Error error(ErrorCode::kOverloaded, "retry after " + core::RoundTime(retry_after));
  error.retry_after_ = retry_after;
  return error;
}

std::string Error::ToString() const {
  std::string text(TextOf(code_));
  if (detail().empty() && !detail_) return text;
  if (!text.empty()) text += ": ";
  return text.append(detail());
}

}  // namespace ergon::gen
