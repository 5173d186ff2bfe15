#include <ergon/node/texts/clean_text.h>

#include <ergon/node/erlang/terms/utf8.h>

namespace ergon::node {

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
    const bool is_control = (*character < 0x20 && *character != '\n') || *character == 0x7f;
    dist::AppendUtf8(clean, is_control ? kReplacement : *character);
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

}  // namespace ergon::node
