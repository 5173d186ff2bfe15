// Lines of sha256sum: one line for each name whatever bytes it has, from which the name can be got
// back as sha256sum does.
#include <algorithm>
#include <string>
#include <string_view>

#include <fuzz/fuzz.h>

#include "sha256_format.h"

using ergon::fuzz::Require;

namespace {

constexpr std::size_t kDigits = 64;

// As `sha256sum -c` reads the name of a line that begins with a backslash.
std::string Unescaped(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      name += text[i];
      continue;
    }
    Require(++i < text.size(), "no backslash stands alone at the end");
    Require(text[i] == '\\' || text[i] == 'n' || text[i] == 'r', "only these three are escaped");
    name += text[i] == 'n' ? '\n' : text[i] == 'r' ? '\r' : '\\';
  }
  return name;
}

void CheckLine(std::string_view line, const treesum::Digest& digest, std::string_view path,
               treesum::LineEnd end) {
  const bool zero = end == treesum::LineEnd::kZero;
  Require(!line.empty() && line.back() == static_cast<char>(end), "a line has its end");
  line.remove_suffix(1);
  const bool escaped = !zero && path.find_first_of("\\\n\r") != std::string_view::npos;
  if (escaped) {
    Require(line.front() == '\\', "a line with an escaped name says so");
    line.remove_prefix(1);
  }
  Require(line.size() >= kDigits + 2 && line.substr(kDigits, 2) == "  ", "two blanks come between");
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const std::string digits(line.substr(2 * i, 2));
    Require(std::stoul(digits, nullptr, 16) == digest[i], "the digits are those of the digest");
  }
  Require(std::none_of(line.begin(), line.begin() + kDigits,
                       [](char digit) { return digit >= 'A' && digit <= 'F'; }),
          "the digits are small letters");
  const std::string_view name = line.substr(kDigits + 2);
  Require(zero || name.find_first_of("\n\r") == std::string_view::npos, "it is one line");
  Require((escaped ? Unescaped(name) : std::string(name)) == path, "the name can be got back");
}

}  // namespace

// The first bytes are the digest, as far as there are any, the rest is the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  treesum::Digest digest{};
  const std::size_t taken = std::min(size, digest.size());
  std::copy_n(data, taken, digest.begin());
  const std::string_view path = ergon::fuzz::TextOf(data + taken, size - taken);
  for (const auto end : {treesum::LineEnd::kNewline, treesum::LineEnd::kZero}) {
    std::string lines = "before";
    treesum::AppendSumLine(lines, digest, path, end);
    Require(lines.starts_with("before"), "lines are appended");
    CheckLine(std::string_view(lines).substr(6), digest, path, end);
  }
  return 0;
}
