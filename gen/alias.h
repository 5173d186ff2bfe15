// A second, revocable address of a process.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/gen/atom.h>
#include <ergon/gen/formatter.h>

namespace ergon::gen {

// Trivially copyable, 16 bytes. Made by Process::CreateAlias. Any process that has it can send to the process until the
// alias is deleted or the process ends.
struct Alias {
  std::uint64_t id = 0;
  Atom node;
  std::uint32_t creation = 0;

  explicit operator bool() const noexcept { return id != 0; }
  friend bool operator==(const Alias&, const Alias&) = default;
  friend auto operator<=>(const Alias&, const Alias&) = default;

  // As in "Alias#<demo@localhost.4711>".
  [[nodiscard]] std::string ToString() const;
};

}  // namespace ergon::gen

template <>
struct std::hash<ergon::gen::Alias> {
  std::size_t operator()(const ergon::gen::Alias& alias) const noexcept {
    return std::hash<std::uint64_t>()(alias.id) ^ alias.node.Index();
  }
};

template <>
struct fmt::formatter<ergon::gen::Alias> : ergon::gen::detail::FormatterOf<ergon::gen::Alias> {};
