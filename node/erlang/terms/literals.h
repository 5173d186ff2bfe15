// Atoms, numbers and characters as Erlang prints them. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ergon::dist {

// Numbers with more bytes are printed as hexadecimal numbers, because decimal digits would take long.
inline constexpr std::size_t kDecimalBytes = 128;

// Returns whether Erlang prints the character as it is.
[[nodiscard]] bool IsPrintable(char32_t character);

// Appends the character as Erlang writes it between two of these quotes.
void AppendEscaped(std::string& out, char32_t character, char quote);
// Returns a text as Erlang writes it between single quotes.
[[nodiscard]] std::string Escaped(std::string_view text);

// Returns whether the atom is written without quotes. Erlang's reserved words need quotes.
[[nodiscard]] bool IsPlainAtom(std::string_view text) noexcept;
// Returns the atom, with quotes if it needs them.
[[nodiscard]] std::string AtomText(std::string_view text);

// Returns the text of an integer of any size. `bytes` begin with the lowest byte.
[[nodiscard]] std::string BigText(std::string_view bytes, bool is_negative);
// Returns the shortest text that means the same number, with a point.
[[nodiscard]] std::string FloatText(double value);

}  // namespace ergon::dist
