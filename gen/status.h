// What a handler returns: go on, stop, answer.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/error.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/response.h>

namespace ergon::gen {

namespace detail {
struct StopRequest {
  Reason reason;
};
template <class T, class Value>
concept OptionalOf = std::is_same_v<std::remove_cvref_t<T>, std::optional<Value>>;
}  // namespace detail

// The result of Init, HandleMessage and HandleEvent: Continue() or Stop(reason), or act::Actor::ContinueWith.
class [[nodiscard]] Status {
 public:
  Status() = default;               // continue
  Status(detail::StopRequest stop)  // NOLINT(google-explicit-constructor): `return gen::Stop(...)`
      : kind_(Kind::kStop), reason_(std::move(stop.reason)) {}
  // The result of a handler in a behaviour that has called ProcessHost::SetNext.
  static Status Next() noexcept {
    Status status;
    status.kind_ = Kind::kNext;
    return status;
  }

  [[nodiscard]] bool stops() const noexcept { return kind_ == Kind::kStop; }
  [[nodiscard]] bool has_next() const noexcept { return kind_ == Kind::kNext; }
  // Neither stops() nor has_next().
  [[nodiscard]] bool continues() const noexcept { return kind_ == Kind::kContinue; }
  [[nodiscard]] const Reason& reason() const noexcept { return reason_; }

 private:
  enum class Kind : unsigned char { kContinue, kStop, kNext };
  Kind kind_ = Kind::kContinue;
  Reason reason_;
};

// The result of HandleCall: Reply(value), ReplyError(error), NoReply(), Stop(reason), ReplyAndStop(value, reason), or
// ReplyAndContinue(value, next).
class [[nodiscard]] CallResult {
 public:
  CallResult(detail::StopRequest stop)  // NOLINT(google-explicit-constructor)
      : status_(std::move(stop)) {}
  CallResult(core::EnvelopePtr response, Status status)
      : response_(std::move(response)), status_(std::move(status)) {}
  // Refuses, with a sentence of the compiler, what MatchRequest returns when some requests have no handler.
  template <detail::OptionalOf<CallResult> Optional>
  CallResult(Optional&&) {  // NOLINT(google-explicit-constructor,bugprone-*)
    static_assert(!detail::OptionalOf<Optional, CallResult>,
                  "MatchRequest: other requests have no handler: let the last one take "
                  "gen::Message&, or look whether there is a result");
  }

  // Null: no answer.
  [[nodiscard]] core::EnvelopePtr& response() noexcept { return response_; }
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  friend CallResult NoReply();
  CallResult() = default;  // so that `return {};` does not leave a caller without an answer

  core::EnvelopePtr response_;
  Status status_;
};

// Lets the process go on.
inline Status Continue() { return {}; }
// Ends the process with `reason`. After HandleCall the caller gets "process terminated: <reason>".
inline detail::StopRequest Stop(Reason reason) { return {std::move(reason)}; }
// Ends the process as one that has failed, with the text of `error`: `if (!token) return gen::Stop(token.error());`
inline detail::StopRequest Stop(const Error& error) { return {Reason::Error(error.ToString())}; }

// Answers the caller with `value`; if `value` is a Result, with the value or the error in it. The caller's Call<T> must
// name the type of the value (for a std::int64_t any integer type that can hold it).
template <class T>
CallResult Reply(T&& value) {
  return {detail::MakeResponse(std::forward<T>(value)), Status()};
}
// Answers the caller with an error: its Call returns `error`.
inline CallResult ReplyError(Error error) {
  return {detail::MakeErrorResponse(std::move(error)), Status()};
}
// Leaves the request open: the answer comes later, by SendResponse or SendResponseError, from this process or another
// one. The process that was asked holds the request until then; if it ends first, the caller gets "process terminated"
// at once. If you give `from` and `ref` to another process, and may end before that one has answered, make it the
// holder (HandOver), or pass the request on as it is (Delegate).
inline CallResult NoReply() { return {}; }
// Answers as Reply does, and then goes on with `next`: see act::Actor::ContinueWith.
template <class T>
CallResult ReplyAndContinue(T&& value, Status next) {
  return {detail::MakeResponse(std::forward<T>(value)), std::move(next)};
}
template <class T>
CallResult ReplyAndStop(T&& value, Reason reason) {
  return {detail::MakeResponse(std::forward<T>(value)), Stop(std::move(reason))};
}

}  // namespace ergon::gen
