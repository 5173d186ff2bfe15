// Names and aliases of other nodes, as PIDs that travel with envelopes.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/gen/pid.h>
#include <ergon/gen/process_id.h>
#include <ergon/gen/target.h>
#include <ergon/node/delivery/foreign_aliases.h>

namespace ergon::node {

// Returns the PID that stands for a name that is registered on another node and travels with envelopes: only that node
// knows whose name it is. No process has the creation 0. Aliases are such PIDs, too (foreign_aliases.h).
[[nodiscard]] inline gen::PID PidOfName(const gen::ProcessID& name) noexcept {
  return {name.name.Index(), name.node, 0};
}
[[nodiscard]] inline bool IsName(gen::PID pid) noexcept {
  return pid.creation == 0 && !IsAlias(pid);
}
[[nodiscard]] inline gen::ProcessID NameOf(gen::PID pid) noexcept {
  return {gen::Atom::FromIndex(static_cast<std::uint32_t>(pid.id)), pid.node};
}
// Returns what such a PID was made of, or the PID itself.
[[nodiscard]] inline gen::Target TargetOf(gen::PID pid) noexcept {
  return IsName(pid) ? gen::Target(NameOf(pid)) : gen::Target(pid);
}
// Returns a text for people: a process, a name or an alias of another node.
[[nodiscard]] inline std::string TextOf(gen::PID pid) {
  if (!IsAlias(pid)) return TargetOf(pid).ToString();
  const auto alias = ForeignAliasOf(pid);
  return alias ? alias->ToString() : "a former alias";
}

}  // namespace ergon::node
