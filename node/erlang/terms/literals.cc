#include <ergon/node/erlang/terms/literals.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::dist {
namespace {

constexpr std::array<std::string_view, 29> kReserved = {
    "after", "and",   "andalso", "band",   "begin",   "bnot", "bor", "bsl",  "bsr", "bxor",
    "case",  "catch", "cond",    "div",    "else",    "end",  "fun", "if",   "let", "maybe",
    "not",   "of",    "or",      "orelse", "receive", "rem",  "try", "when", "xor"};

bool IsLower(char32_t character) {
  return (character >= 'a' && character <= 'z') ||
         (character >= 0xdf && character <= 0xff && character != 0xf7);
}

bool IsInName(char32_t character) {
  return IsLower(character) || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '_' || character == '@' ||
         (character >= 0xc0 && character <= 0xde && character != 0xd7);
}

// What stands behind the backslash, or 0.
char EscapeOf(char32_t character) {
  switch (character) {
    case '\b':
      return 'b';
    case '\t':
      return 't';
    case '\n':
      return 'n';
    case '\v':
      return 'v';
    case '\f':
      return 'f';
    case '\r':
      return 'r';
    case 0x1b:
      return 'e';
    case 0x7f:
      return 'd';
    default:
      return '\0';
  }
}

}  // namespace

bool IsPrintable(char32_t character) {
  if (character < ' ') return (character >= '\b' && character <= '\r') || character == 0x1b;
  return character < 0x7f || character >= 0xa0;
}

void AppendEscaped(std::string& out, char32_t character, char quote) {
  if (const char escape = EscapeOf(character)) {
    out += '\\';
    out += escape;
  } else if (character == static_cast<unsigned char>(quote) || character == '\\') {
    out += '\\';
    out += static_cast<char>(character);
  } else if (!IsPrintable(character)) {
    out += fmt::format("\\{:03o}", static_cast<std::uint32_t>(character));
  } else {
    AppendUtf8(out, character);
  }
}

// Without quotes.
std::string Escaped(std::string_view text) {
  std::string out;
  while (const auto character = TakeCharacter(text)) AppendEscaped(out, *character, '\'');
  return out;
}

std::string AtomText(std::string_view text) {
  return IsPlainAtom(text) ? std::string(text) : '\'' + Escaped(text) + '\'';
}

std::string BigText(std::string_view bytes, bool is_negative) {
  std::string digits;
  if (bytes.size() > kDecimalBytes) {
    for (const char byte : bytes) {
      digits += fmt::format("{:X}{:X}", static_cast<unsigned char>(byte) & 0xf,
                            static_cast<unsigned char>(byte) >> 4);
    }
    digits.resize(digits.find_last_not_of('0') + 1);
    digits += "#61";
  } else {
    std::string number(bytes);
    do {
      unsigned rest = 0;
      for (auto byte = number.rbegin(); byte != number.rend(); ++byte) {
        const unsigned value = rest << 8 | static_cast<unsigned char>(*byte);
        *byte = static_cast<char>(value / 10);
        rest = value % 10;
      }
      digits += static_cast<char>('0' + rest);
    } while (number.find_first_not_of('\0') != std::string::npos);
  }
  if (is_negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

bool IsPlainAtom(std::string_view text) noexcept {
  if (std::find(kReserved.begin(), kReserved.end(), text) != kReserved.end()) return false;
  const auto first = TakeCharacter(text);
  if (!first || !IsLower(*first)) return false;
  while (!text.empty()) {
    const auto character = TakeCharacter(text);
    if (!character || !IsInName(*character)) return false;
  }
  return true;
}

std::string FloatText(double value) {
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(value),
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view shortest(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t mark = shortest.find('e');
  int exponent = 0;
  const std::size_t number = mark + (shortest[mark + 1] == '+' ? 2 : 1);
  std::from_chars(shortest.data() + number, end, exponent);
  std::string digits(shortest.substr(0, mark));
  std::erase(digits, '.');
  const int size = static_cast<int>(digits.size());
  const int point = exponent + 1;  // so many digits stand before it
  // As many zeros as are shorter than an exponent.
  const int exponent_size = static_cast<int>(std::to_string(exponent).size()) + (size == 1 ? 3 : 2);
  const bool is_exact = std::abs(value) < 9007199254740992.0;  // 2^53
  std::string text;
  if (point == 0) {
    text = "0." + digits;
  } else if (point > 0 && point < size && is_exact) {
    text = digits.insert(static_cast<std::size_t>(point), 1, '.');
  } else if (point < 0 && 2 - point <= exponent_size) {
    text = "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else if (point >= size && point - size + 2 <= exponent_size && is_exact) {
    text = digits + std::string(static_cast<std::size_t>(point - size), '0') + ".0";
  } else {
    text = digits.substr(0, 1) + '.' + (size == 1 ? "0" : digits.substr(1)) + 'e' +
           std::to_string(exponent);
  }
  return value < 0 ? '-' + text : text;
}

}  // namespace ergon::dist
