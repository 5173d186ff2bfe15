// A message, and one function for each type it may have.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <ergon/gen/message.h>

namespace ergon::gen {

namespace detail {

// The parameter of a function object that is not generic.
template <class Function>
struct ParameterOf {
  static_assert(!std::is_same_v<Function, Function>,
                "Match: a handler has to take one argument: a message's type, or gen::Message&");
  using Type = int;
};
template <class R, class Class, class P>
struct ParameterOf<R (Class::*)(P)> {
  using Type = P;
};
template <class R, class Class, class P>
struct ParameterOf<R (Class::*)(P) const> {
  using Type = P;
};
template <class R, class Class, class P>
struct ParameterOf<R (Class::*)(P) noexcept> {
  using Type = P;
};
template <class R, class Class, class P>
struct ParameterOf<R (Class::*)(P) const noexcept> {
  using Type = P;
};
template <class R, class P>
struct ParameterOf<R (*)(P)> {
  using Type = P;
};
template <class R, class P>
struct ParameterOf<R (*)(P) noexcept> {
  using Type = P;
};

// The type that a handler takes. A generic handler takes the message itself, whatever it is.
template <class Handler, class = void>
struct MatchParameter {
  static_assert(std::is_invocable_v<Handler&, Message&>,
                "Match: a handler has to take one argument: a message's type, or gen::Message&");
  using Type = Message&;
};
template <class Handler>
struct MatchParameter<Handler, std::void_t<decltype(&Handler::operator())>>
    : ParameterOf<decltype(&Handler::operator())> {};
template <class R, class P>
struct MatchParameter<R (*)(P), void> : ParameterOf<R (*)(P)> {};
template <class R, class P>
struct MatchParameter<R (*)(P) noexcept, void> : ParameterOf<R (*)(P) noexcept> {};

template <class Handler>
using MatchParameterOf = typename MatchParameter<std::decay_t<Handler>>::Type;
template <class Handler>
using MatchTypeOf = std::remove_cv_t<std::remove_reference_t<MatchParameterOf<Handler>>>;
template <class Handler>
inline constexpr bool kIsOtherwise = std::is_same_v<MatchTypeOf<Handler>, Message>;
template <class Handler>
using MatchResultOf = std::invoke_result_t<Handler&, MatchParameterOf<Handler>>;

template <class First, class... Rest>
constexpr bool AllDifferent() {
  if constexpr (sizeof...(Rest) == 0) {
    return true;
  } else {
    return (!std::is_same_v<First, Rest> && ...) && AllDifferent<Rest...>();
  }
}
// Returns whether a handler before the last one is an "otherwise".
template <class First, class... Rest>
constexpr bool OtherwiseTooEarly() {
  if constexpr (sizeof...(Rest) == 0) {
    return false;
  } else {
    return kIsOtherwise<First> || OtherwiseTooEarly<Rest...>();
  }
}

// The type that Match returns.
template <bool AllVoid, class... Handlers>
struct MatchOutcome {
  using Common = std::common_type_t<MatchResultOf<Handlers>...>;
  using Type = std::conditional_t<(kIsOtherwise<Handlers> || ...), Common, std::optional<Common>>;
};
template <class... Handlers>
struct MatchOutcome<true, Handlers...> {
  using Type = bool;
};

template <class Outcome, class Handler>
Outcome CallMatched(Message& message, Handler& handler) {
  using Parameter = MatchParameterOf<Handler>;
  const auto call = [&]() -> decltype(auto) {
    if constexpr (kIsOtherwise<Handler>) {
      return handler(message);
    } else if constexpr (std::is_lvalue_reference_v<Parameter>) {
      return handler(*message.As<MatchTypeOf<Handler>>());
    } else {
      return handler(message.Take<MatchTypeOf<Handler>>());
    }
  };
  if constexpr (std::is_void_v<MatchResultOf<Handler>>) {
    call();
    return true;
  } else {
    return call();
  }
}

template <class Outcome, class First, class... Rest>
Outcome TryMatch(Message& message, First& first, Rest&... rest) {
  if constexpr (kIsOtherwise<First>) {
    return CallMatched<Outcome>(message, first);
  } else {
    if (message.Is<MatchTypeOf<First>>()) return CallMatched<Outcome>(message, first);
    if constexpr (sizeof...(Rest) == 0) {
      return Outcome();  // false, or an empty optional
    } else {
      return TryMatch<Outcome>(message, rest...);
    }
  }
}

}  // namespace detail

namespace detail {
// Whether a handler takes any type: a function object whose call is a template.
template <class Handler, class = void>
inline constexpr bool kTakesAny = !std::is_pointer_v<Handler>;
template <class Handler>
inline constexpr bool kTakesAny<Handler, std::void_t<decltype(&Handler::operator())>> = false;

template <class T, class First, class... Rest>
decltype(auto) CallReceived(T& value, First& first, Rest&... rest) {
  if constexpr (kTakesAny<std::decay_t<First>>) {
    static_assert(sizeof...(Rest) == 0,
                  "Match: the handler that takes any type has to be the last");
    return first(value);
  } else if constexpr (!std::is_same_v<MatchTypeOf<First>, T>) {
    static_assert(sizeof...(Rest) != 0, "Match: one of the received types has no handler");
    return CallReceived(value, rest...);
  } else if constexpr (std::is_lvalue_reference_v<MatchParameterOf<First>>) {
    return first(value);
  } else {
    return first(std::move(value));
  }
}
}  // namespace detail

// Calls the handler that takes what Process::Receive has returned, and returns what that returns:
//
//   gen::Match(*next, [&](const Order& order) { ... }, [&](gen::Asked<Ready>& asked) { ... });
//
// Each type needs a handler whose parameter has exactly that type; the last one may take any other (`auto&`). A handler
// that takes its argument by value takes it out of `received`.
template <class... T, class... Handlers>
decltype(auto) Match(std::variant<T...>& received, Handlers&&... handlers) {
  return std::visit(
      [&](auto& value) -> decltype(auto) { return detail::CallReceived(value, handlers...); },
      received);
}

// Calls the first handler whose parameter's type is the message's, and no other:
//
//   return gen::Match(
//       message,
//       [&](const Add& add) { value_ += add.amount; return gen::Continue(); },
//       [&](Rename rename) { name_ = std::move(rename.name); return gen::Continue(); },
//       [&](gen::Message& other) { return Actor::HandleMessage(from, other); });
//
// `const T&` and `T&` refer to the value in the message; `T` and `T&&` take it out of the message (Message::Take). The
// last handler may take gen::Message& or be generic: it gets every message that no other handler takes, also a message
// that has been forwarded.
//
// If no handler returns anything, Match returns whether a handler was called. Otherwise all handlers have to return
// something with a common type R, such as gen::Status and gen::Stop(...): the result is that R if the last handler
// takes all other messages, and else a std::optional<R>, which is empty when no handler was called. A function that
// returns both names its type: `[&](const Add& add) -> gen::Status {...}`.
template <class... Handlers>
auto Match(Message& message, Handlers&&... handlers) {
  static_assert(sizeof...(Handlers) > 0, "Match: a handler is missing");
  static_assert(!detail::OtherwiseTooEarly<Handlers...>(),
                "Match: only the last handler may take gen::Message& or anything");
  static_assert(detail::AllDifferent<detail::MatchTypeOf<Handlers>...>(),
                "Match: two handlers take the same type, the second would never be called");
  constexpr bool kAllVoid = (std::is_void_v<detail::MatchResultOf<Handlers>> && ...);
  constexpr bool kNoneVoid = (!std::is_void_v<detail::MatchResultOf<Handlers>> && ...);
  static_assert(kAllVoid || kNoneVoid, "Match: either all handlers return something or none does");
  using Outcome = typename detail::MatchOutcome<kAllVoid, Handlers...>::Type;
  return detail::TryMatch<Outcome>(message, handlers...);
}

}  // namespace ergon::gen
