// What map, and_then and or_else of a Result do, whatever kind of reference it is, and whether it has a value or none.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

#include <ergon/gen/error.h>

namespace ergon::gen {

template <class T>
class Result;

namespace detail {
// Calls the function with the value of a result, or with nothing for a Result<void>. Returns by value, as the value may
// be gone by then.
template <class Given, class F>
auto InvokeWithValue(Given&& given, F&& function) {
  if constexpr (std::is_void_v<typename std::remove_cvref_t<Given>::value_type>) {
    return std::invoke(std::forward<F>(function));
  } else {
    return std::invoke(std::forward<F>(function), *std::forward<Given>(given));
  }
}
template <class Given, class F>
using ReturnedWithValue = decltype(InvokeWithValue(std::declval<Given>(), std::declval<F>()));

template <class Given, class F>
auto MapResult(Given&& given, F&& function) {
  using Value = ReturnedWithValue<Given, F>;
  if (!given.has_value()) return Result<Value>(std::forward<Given>(given).error());
  if constexpr (std::is_void_v<Value>) {
    InvokeWithValue(std::forward<Given>(given), std::forward<F>(function));
    return Result<Value>();
  } else {
    return Result<Value>(InvokeWithValue(std::forward<Given>(given), std::forward<F>(function)));
  }
}
template <class Given, class F>
auto ThenResult(Given&& given, F&& function) {
  using Next = ReturnedWithValue<Given, F>;
  if (!given.has_value()) return Next(tl::unexpected<Error>(std::forward<Given>(given).error()));
  return Next(InvokeWithValue(std::forward<Given>(given), std::forward<F>(function)));
}
template <class R, class F>
R ElseResult(R given, F&& function) {
  if (given.has_value()) return given;
  if constexpr (std::is_void_v<std::invoke_result_t<F, Error>>) {
    std::invoke(std::forward<F>(function), Error(given.error()));
    return given;
  } else {
    return std::invoke(std::forward<F>(function), std::move(given).error());
  }
}
}  // namespace detail

}  // namespace ergon::gen
