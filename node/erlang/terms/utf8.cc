#include <ergon/node/erlang/terms/utf8.h>

#include <cstdint>
#include <cstring>

namespace ergon::dist {
namespace {

struct Head {
  std::size_t length;
  char32_t bits;
  char32_t least;  // of a character that needs so many bytes
};

std::optional<Head> HeadOf(unsigned char byte) noexcept {
  if (byte < 0x80) return Head{1, byte, 0};
  if (byte < 0xc0) return std::nullopt;
  if (byte < 0xe0) return Head{2, byte & 0x1fu, 0x80};
  if (byte < 0xf0) return Head{3, byte & 0x0fu, 0x800};
  if (byte < 0xf8) return Head{4, byte & 0x07u, 0x10000};
  return std::nullopt;
}

char Byte(char32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); }

}  // namespace

std::optional<char32_t> TakeCharacter(std::string_view& text) noexcept {
  if (text.empty()) return std::nullopt;
  const auto head = HeadOf(static_cast<unsigned char>(text.front()));
  if (!head || head->length > text.size()) return std::nullopt;
  char32_t character = head->bits;
  for (std::size_t i = 1; i < head->length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return std::nullopt;
    character = character << 6 | (byte & 0x3fu);
  }
  if (character < head->least || !IsCharacter(character)) return std::nullopt;
  text.remove_prefix(head->length);
  return character;
}

std::size_t CutBeforeCharacter(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text.size();
  std::size_t size = most;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return size;
}

std::optional<std::size_t> CountCharacters(std::string_view text) noexcept {
  std::size_t count = 0;
  // Nearly all text is ASCII: eight of its characters at a time.
  for (std::uint64_t eight = 0; text.size() >= sizeof(eight); count += sizeof(eight)) {
    std::memcpy(&eight, text.data(), sizeof(eight));
    if ((eight & 0x8080808080808080) != 0) break;
    text.remove_prefix(sizeof(eight));
  }
  while (!text.empty()) {
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      text.remove_prefix(1);
    } else if (!TakeCharacter(text)) {
      return std::nullopt;
    }
    ++count;
  }
  return count;
}

void AppendUtf8(std::string& out, char32_t character) {
  if (character < 0x80) {
    out += Byte(character);
    return;
  }
  if (character < 0x800) {
    out += Byte(0xc0 | character >> 6);
  } else {
    if (character < 0x10000) {
      out += Byte(0xe0 | character >> 12);
    } else {
      out += Byte(0xf0 | character >> 18);
      out += Byte(0x80 | (character >> 12 & 0x3f));
    }
    out += Byte(0x80 | (character >> 6 & 0x3f));
  }
  out += Byte(0x80 | (character & 0x3f));
}

}  // namespace ergon::dist
