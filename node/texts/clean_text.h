// Texts of users for the eyes of others, and for programs that take only UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ergon::node {

// Returns UTF-8 of at most `most` bytes, with U+FFFD for what is none and for control characters other than line ends.
[[nodiscard]] std::string CleanText(std::string_view text, std::size_t most);

// Returns UTF-8, with U+FFFD for each byte that is part of no character. Nothing else is changed.
[[nodiscard]] std::string ValidText(std::string_view text);

// As CleanText, for the value of a label of metrics: at most 200 bytes. Names that have become the same are to be
// summed up: no two samples may have the same labels.
[[nodiscard]] inline std::string LabelValue(std::string_view text) { return CleanText(text, 200); }

}  // namespace ergon::node
