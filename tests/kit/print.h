// How doctest shows Ergon's values when a check fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>

namespace doctest {

template <>
struct StringMaker<ergon::gen::PID> {
  static String convert(const ergon::gen::PID& pid) { return pid.ToString().c_str(); }
};
template <>
struct StringMaker<ergon::gen::Error> {
  static String convert(const ergon::gen::Error& error) { return error.ToString().c_str(); }
};
template <>
struct StringMaker<ergon::gen::Reason> {
  static String convert(const ergon::gen::Reason& reason) { return reason.ToString().c_str(); }
};

// The size and the first elements, if fmt knows them.
template <class T>
requires fmt::is_formattable<T>::value struct StringMaker<std::vector<T>> {
  static String convert(const std::vector<T>& values) {
    std::string text = fmt::format("{} values:", values.size());
    for (std::size_t i = 0; i < values.size() && i < 30; ++i) text += fmt::format(" {}", values[i]);
    return text.c_str();
  }
};

}  // namespace doctest
