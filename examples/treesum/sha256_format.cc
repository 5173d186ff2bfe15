#include "sha256_format.h"

#include <algorithm>

namespace treesum {
namespace {

bool NeedsEscape(char character) {
  return character == '\\' || character == '\n' || character == '\r';
}

void AppendEscaped(std::string& lines, std::string_view path) {
  for (char character : path) {
    switch (character) {
      case '\\':
        lines += "\\\\";
        break;
      case '\n':
        lines += "\\n";
        break;
      case '\r':
        lines += "\\r";
        break;
      default:
        lines += character;
    }
  }
}

}  // namespace

void AppendSumLine(std::string& lines, const Digest& digest, std::string_view path, LineEnd end) {
  static constexpr char kHexDigits[] = "0123456789abcdef";
  char text[2 * sizeof(Digest) + 2];
  char* next = text;
  for (unsigned char byte : digest) {
    *next++ = kHexDigits[byte >> 4];
    *next++ = kHexDigits[byte & 15];
  }
  *next++ = ' ';
  *next++ = ' ';

  bool escape = end == LineEnd::kNewline && std::any_of(path.begin(), path.end(), NeedsEscape);
  if (escape) lines += '\\';
  lines.append(text, sizeof(text));
  if (escape) {
    AppendEscaped(lines, path);
  } else {
    lines += path;
  }
  lines += static_cast<char>(end);
}

}  // namespace treesum
