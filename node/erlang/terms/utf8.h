// Texts of Erlang: atoms and binaries are UTF-8, charlists are code points.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ergon::dist {

// Removes and returns the first character of `text`. Returns nothing if there is none, or if it is not UTF-8: cut off,
// longer than need be, a surrogate, or beyond the last character. Any thread.
[[nodiscard]] std::optional<char32_t> TakeCharacter(std::string_view& text) noexcept;

// Returns how many of the first `most` bytes are left when a character that `most` cuts in two is left out. A text that
// is shorter than that is not cut. Any thread.
[[nodiscard]] std::size_t CutBeforeCharacter(std::string_view text, std::size_t most) noexcept;

// Returns the number of characters, or nothing if the text is not UTF-8. Any thread.
[[nodiscard]] std::optional<std::size_t> CountCharacters(std::string_view text) noexcept;

// Returns whether each byte is a character.
[[nodiscard]] inline bool IsAscii(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char byte) { return (byte & 0x80) == 0; });
}

// Returns whether the number is a character that UTF-8 can have.
[[nodiscard]] constexpr bool IsCharacter(std::int64_t number) noexcept {
  return number >= 0 && number <= 0x10ffff && (number < 0xd800 || number > 0xdfff);
}
// Appends a character for which IsCharacter is true.
void AppendUtf8(std::string& out, char32_t character);

}  // namespace ergon::dist
