// The kinds of terms that a reader tells apart.
#pragma once

#include <cstdint>
#include <string_view>

namespace ergon::dist {

enum class TermKind : std::uint8_t {
  kNothing,  // a reader is at the end
  kAtom,
  kInteger,  // of any size
  kFloat,
  kBinary,
  kBitstring,  // its bits are not a whole number of bytes
  kTuple,
  kList,
  kMap,
  kPid,
  kPort,
  kReference,
  kFunction,
};

// Returns the kind for texts of errors, as in "a binary".
[[nodiscard]] std::string_view KindText(TermKind kind) noexcept;

}  // namespace ergon::dist
