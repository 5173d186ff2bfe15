// References and aliases of Erlang on the wire, and the numbers of this node in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/node/delivery/foreign_aliases.h>

namespace ergon::dist {

// Appends the reference that means the number `id` on the node `node`: what gen::Ref and gen::Alias hold.
void AppendReference(std::string& out, std::uint64_t id, gen::Atom node, std::uint32_t creation);
void AppendReference(std::string& out, const node::ForeignAlias& alias);
// Returns that reference as a term of its own.
[[nodiscard]] inline std::string ReferenceOf(std::uint64_t id, gen::Atom node,
                                             std::uint32_t creation) {
  std::string bytes;
  AppendReference(bytes, id, node, creation);
  return bytes;
}
// Returns the number in a reference (a checked term), or nothing if it is not a reference of `node` and `creation`.
[[nodiscard]] std::optional<std::uint64_t> OwnNumberIn(std::string_view reference, gen::Atom node,
                                                       std::uint32_t creation);

}  // namespace ergon::dist
