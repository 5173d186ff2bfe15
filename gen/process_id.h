// The registered name of a process on a node.
#pragma once

#include <string>

#include <ergon/gen/atom.h>
#include <ergon/gen/formatter.h>

namespace ergon::gen {

// Unlike a PID it stays valid when the process is replaced by another one under the same name.
struct ProcessID {
  Atom name;
  Atom node;  // empty: this node

  friend bool operator==(const ProcessID&, const ProcessID&) = default;
  friend auto operator<=>(const ProcessID&, const ProcessID&) = default;

  // As in "<'divider'@demo@localhost>".
  [[nodiscard]] std::string ToString() const;
};

}  // namespace ergon::gen

template <>
struct fmt::formatter<ergon::gen::ProcessID>
    : ergon::gen::detail::FormatterOf<ergon::gen::ProcessID> {};
