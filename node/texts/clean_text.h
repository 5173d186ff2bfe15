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

// Returns a text that does not look like a line of its own, nor moves the cursor of a terminal: what follows a line end
// is indented, and other control characters are written as "\\x1b". Those from 0x80 to 0x9F are two bytes of UTF-8.
[[nodiscard]] std::string AsOneEntry(std::string text);

// As CleanText, for the value of a label of metrics: at most 200 bytes. Names that have become the same are to be
// summed up: no two samples may have the same labels.
[[nodiscard]] inline std::string LabelValue(std::string_view text) { return CleanText(text, 200); }

}  // namespace ergon::node
