// The lines of sha256sum.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sha256.h"

namespace treesum {

enum class LineEnd : char {
  kNewline = '\n',  // names are escaped
  kZero = '\0',     // as with sha256sum --zero: names are written as they are
};

// What a line has besides the name: digest, two blanks, end.
inline constexpr std::size_t kLineOverhead = 2 * sizeof(Digest) + 3;

// Appends "<digest>  <path>" exactly as sha256sum writes it: if the name contains a backslash, a
// newline or a carriage return, they are escaped and the line starts with a backslash.
void AppendSumLine(std::string& lines, const Digest& digest, std::string_view path, LineEnd end);

}  // namespace treesum
