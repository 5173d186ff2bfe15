// A request, and one function for each type it may have, which returns the answer.
#pragma once

#include <type_traits>
#include <utility>

#include <ergon/gen/match.h>
#include <ergon/gen/result.h>
#include <ergon/gen/status.h>

namespace ergon::gen {

namespace detail {

template <class T>
struct ReplyValue {
  using Type = T;
};
template <class T>
struct ReplyValue<Result<T>> {
  using Type = T;
};

// Wraps a handler so that it returns a gen::CallResult.
template <class Handler>
class Replying {
 public:
  explicit Replying(Handler& handler) : handler_(handler) {}

  CallResult operator()(MatchParameterOf<Handler> request) {
    using Returned = MatchResultOf<Handler>;
    using Value = std::decay_t<typename ReplyValue<std::decay_t<Returned>>::Type>;
    static_assert(
        !std::is_void_v<Returned> && !std::is_void_v<Value> && !std::is_same_v<Value, Status>,
        "MatchRequest: a handler has to return the answer, or a gen::CallResult");
    if constexpr (std::is_convertible_v<Returned, CallResult>) {
      return handler_(std::forward<MatchParameterOf<Handler>>(request));
    } else {
      CheckReply<MatchTypeOf<Handler>, Value>();
      return Reply(handler_(std::forward<MatchParameterOf<Handler>>(request)));
    }
  }

 private:
  template <class Request, class Value>
  static constexpr void CheckReply() {
    if constexpr (TypedRequest<Request>) {
      static_assert(std::is_same_v<Value, ReplyOf<Request>>,
                    "MatchRequest: a handler returns something else than the Reply of its request");
    }
  }

  Handler& handler_;
};

}  // namespace detail

// As Match, in HandleCall: the caller gets what the handler returns.
//
//   return gen::MatchRequest(
//       request,
//       [&](const Thumbnail& job) { return ThumbnailDone{Shrink(job.path)}; },
//       [&](const Lookup& key) -> gen::Result<Entry> { return Find(key); },  // or the caller gets the error
//       [&](const Later& later) { queue_.push_back(later); return gen::NoReply(); },
//       [&](gen::Message& other) { return Actor::HandleCall(from, ref, other); });
//
// A handler returns the answer, a gen::Result of it, or a gen::CallResult. For a request with a type `Reply`
// (gen::TypedRequest) the answer must have that type, or the program does not compile; inside of a gen::CallResult, as
// gen::Reply returns one, the type is not checked. The result is a gen::CallResult if the last handler takes all other
// requests, and else a std::optional of it, empty when no handler was called.
template <class... Handlers>
auto MatchRequest(Message& request, Handlers&&... handlers) {
  return Match(request, detail::Replying<std::remove_reference_t<Handlers>>(handlers)...);
}

}  // namespace ergon::gen
