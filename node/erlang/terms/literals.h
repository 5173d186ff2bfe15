// Atoms, numbers and characters as Erlang prints them. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ergon::dist {

// Numbers with more bytes are printed as hexadecimal ones, which takes no time.
inline constexpr std::size_t kDecimalBytes = 128;

// Erlang prints the character as it is.
[[nodiscard]] bool IsPrintable(char32_t character);

// Appends the character as it stands between two of these quotes.
void AppendEscaped(std::string& out, char32_t character, char quote);
// A text as it stands between single quotes.
[[nodiscard]] std::string Escaped(std::string_view text);

// The atom is written without quotes, and is none of Erlang's reserved words.
[[nodiscard]] bool IsPlainAtom(std::string_view text) noexcept;
// The atom, with quotes if it needs them.
[[nodiscard]] std::string AtomText(std::string_view text);

// An integer of any size: its bytes from the lowest on.
[[nodiscard]] std::string BigText(std::string_view bytes, bool is_negative);
// The shortest text that means the same, with a point.
[[nodiscard]] std::string FloatText(double value);

}  // namespace ergon::dist
