// The registered name of a process on a node.
#pragma once

#include <string>

#include <fmt/format.h>

#include <ergon/gen/atom.h>

namespace ergon::gen {

// Unlike a PID it stays valid when the process is replaced by another one under the same name.
struct ProcessID {
  Atom name;
  Atom node;  // empty: this node

  friend bool operator==(const ProcessID&, const ProcessID&) = default;
  friend auto operator<=>(const ProcessID&, const ProcessID&) = default;

  // As in "<'divider'@demo@localhost>".
  [[nodiscard]] std::string ToString() const {
    return fmt::format("<'{}'@{}>", name.Text(), node.Text());
  }
};

}  // namespace ergon::gen

template <>
struct fmt::formatter<ergon::gen::ProcessID> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const ergon::gen::ProcessID& id, Context& context) const {
    return fmt::formatter<std::string>::format(id.ToString(), context);
  }
};
