// A value that is unique on a node: it ties an answer to its request, a notice to its monitor.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/gen/atom.h>
#include <ergon/gen/formatter.h>

namespace ergon::gen {

// Trivially copyable, 16 bytes.
struct Ref {
  std::uint64_t id = 0;
  Atom node;
  std::uint32_t creation = 0;

  explicit operator bool() const noexcept { return id != 0; }
  friend bool operator==(const Ref&, const Ref&) = default;
  friend auto operator<=>(const Ref&, const Ref&) = default;

  // As in "Ref#<demo@localhost.4711>".
  [[nodiscard]] std::string ToString() const;
};

}  // namespace ergon::gen

template <>
struct std::hash<ergon::gen::Ref> {
  std::size_t operator()(const ergon::gen::Ref& ref) const noexcept {
    return std::hash<std::uint64_t>()(ref.id) ^ ref.node.Index();
  }
};

template <>
struct fmt::formatter<ergon::gen::Ref> : ergon::gen::detail::FormatterOf<ergon::gen::Ref> {};
