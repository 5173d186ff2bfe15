#include <ergon/node/texts/clean_text.h>

#include <algorithm>

#include <fmt/core.h>

#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::node {
namespace {

bool IsControl(char32_t character) {
  return character < 0x20 || (character >= 0x7f && character <= 0x9f);
}

bool MovesCursor(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return (byte < 0x20 && byte != '\t') || byte == 0x7F;
}

}  // namespace

std::string CleanText(std::string_view text, std::size_t most) {
  constexpr char32_t kReplacement = 0xfffd;
  constexpr std::size_t kLongestCharacter = 4;
  std::string clean;
  while (!text.empty() && clean.size() + kLongestCharacter <= most) {
    auto character = dist::TakeCharacter(text);
    if (!character) {
      text.remove_prefix(1);
      character = kReplacement;
    }
    const bool is_replaced = IsControl(*character) && *character != '\n';
    dist::AppendUtf8(clean, is_replaced ? kReplacement : *character);
  }
  return clean;
}

std::string ValidText(std::string_view text) {
  if (dist::IsAscii(text)) return std::string(text);
  constexpr char32_t kReplacement = 0xfffd;
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    auto character = dist::TakeCharacter(text);
    if (!character) text.remove_prefix(1);
    dist::AppendUtf8(valid, character.value_or(kReplacement));
  }
  return valid;
}

std::string AsOneEntry(std::string line) {
  constexpr char kLead = '\xC2';
  if (std::ranges::none_of(line, [](char c) { return MovesCursor(c) || c == kLead; })) return line;
  std::string entry;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char character = line[i];
    const auto next = static_cast<unsigned char>(i + 1 < line.size() ? line[i + 1] : ' ');
    if (character == '\n') {
      entry += "\n    ";
    } else if (character == kLead && next >= 0x80 && next <= 0x9F) {
      entry += fmt::format("\\x{:02x}", next);
      ++i;
    } else if (MovesCursor(character)) {
      entry += fmt::format("\\x{:02x}", static_cast<unsigned char>(character));
    } else {
      entry += character;
    }
  }
  return entry;
}

}  // namespace ergon::node
