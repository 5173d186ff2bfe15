// How this layer's values look in log lines and other formatted texts: like their ToString().
#pragma once

#include <string_view>

#include <fmt/core.h>

namespace ergon::gen::detail {

// The base of their formatters. Texts are padded and cut as by "{:>20}". Write is only declared here, so that a file
// which includes an address does not get all of fmt.
class TextFormatter : public fmt::formatter<fmt::string_view> {
 protected:
  [[nodiscard]] fmt::format_context::iterator Write(std::string_view text,
                                                    fmt::format_context& context) const;
};

template <class T>
class FormatterOf : public TextFormatter {
 public:
  fmt::format_context::iterator format(const T& value, fmt::format_context& context) const {
    return Write(value.ToString(), context);
  }
};

}  // namespace ergon::gen::detail
