// What map and and_then of a Result do, whatever kind of reference it is.
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
template <class Given, class F>
auto MapResult(Given&& given, F&& function) {
  using Value = std::remove_cvref_t<std::invoke_result_t<F, decltype(*std::forward<Given>(given))>>;
  if (!given.has_value()) return Result<Value>(std::forward<Given>(given).error());
  if constexpr (std::is_void_v<Value>) {
    std::invoke(std::forward<F>(function), *std::forward<Given>(given));
    return Result<Value>();
  } else {
    return Result<Value>(std::invoke(std::forward<F>(function), *std::forward<Given>(given)));
  }
}
template <class Given, class F>
auto ThenResult(Given&& given, F&& function) {
  using Next = std::remove_cvref_t<std::invoke_result_t<F, decltype(*std::forward<Given>(given))>>;
  if (!given.has_value()) return Next(tl::unexpected<Error>(std::forward<Given>(given).error()));
  return Next(std::invoke(std::forward<F>(function), *std::forward<Given>(given)));
}
}  // namespace detail

}  // namespace ergon::gen
