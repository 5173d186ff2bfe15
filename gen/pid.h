// The address of one process, valid for its whole life and never reused.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/formatter.h>

namespace ergon::gen {

// Trivially copyable, 16 bytes. On its own node `id` is a slot index (low 32 bits) and the slot's
// generation (high 32 bits); elsewhere it is only compared.
struct PID {
  std::uint64_t id = 0;
  Atom node;
  std::uint32_t creation = 0;  // tells incarnations of a node apart

  // False for the default-constructed PID, which belongs to no process.
  explicit operator bool() const noexcept { return id != 0; }
  friend bool operator==(const PID&, const PID&) = default;
  friend auto operator<=>(const PID&, const PID&) = default;

  // As in "<demo@localhost.12.1>": node, slot, generation.
  [[nodiscard]] std::string ToString() const;

  [[nodiscard]] core::Address ToAddress() const noexcept { return {id, node.Index(), creation}; }
  static PID FromAddress(const core::Address& address) noexcept {
    return {address.id, Atom::FromIndex(address.node), address.creation};
  }
};

}  // namespace ergon::gen

template <>
struct std::hash<ergon::gen::PID> {
  std::size_t operator()(const ergon::gen::PID& pid) const noexcept {
    return std::hash<std::uint64_t>()(pid.id * 0x9e3779b97f4a7c15u ^ pid.creation) ^
           pid.node.Index();
  }
};

template <>
struct fmt::formatter<ergon::gen::PID> : ergon::gen::detail::FormatterOf<ergon::gen::PID> {};
