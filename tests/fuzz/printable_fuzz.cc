// Paths in messages: what is shown has no control characters, and no two paths look alike.
#include <string>
#include <string_view>

#include <fuzz/fuzz.h>

#include "text.h"

using ergon::fuzz::Require;

namespace {

std::string Unescaped(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      path += text[i];
      continue;
    }
    Require(++i < text.size(), "no backslash stands alone at the end");
    switch (text[i]) {
      case '\\':
        path += '\\';
        break;
      case 'n':
        path += '\n';
        break;
      case 'r':
        path += '\r';
        break;
      case 't':
        path += '\t';
        break;
      default:
        Require(text[i] == 'x' && i + 2 < text.size(), "other bytes are two digits");
        path += static_cast<char>(std::stoul(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
    }
  }
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view path = ergon::fuzz::TextOf(data, size);
  const std::string shown = treesum::Printable(path);
  for (const char character : shown) {
    const auto byte = static_cast<unsigned char>(character);
    Require(byte >= 0x20 && byte != 0x7f, "nothing that is shown is a control character");
  }
  Require(Unescaped(shown) == path, "the path can be got back");
  return 0;
}
