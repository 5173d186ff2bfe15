// Aliases of processes of other nodes: as those have made them, and as PIDs that travel with envelopes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>

namespace ergon::node {

// Trivially copyable. A reference of Erlang: those of Ergon nodes fit a gen::Alias, those of Erlang nodes have more
// words.
struct ForeignAlias {
  static constexpr std::size_t kMaxWords = 5;

  gen::Atom node;
  std::uint32_t creation = 0;
  std::uint32_t size = 0;  // of the words, how many there are; the others are 0
  std::array<std::uint32_t, kMaxWords> words{};

  friend bool operator==(const ForeignAlias&, const ForeignAlias&) = default;

  // As in "#Ref<shell@localhost.3.2.1>".
  [[nodiscard]] std::string ToString() const;
};

// An alias that does not fit into a PID or a gen::Alias is kept in a table of the program, with a number instead, until
// as many others have come. That lasts for what happens next: whoever wants to keep an alias keeps a ForeignAlias, or a
// gen::Alias of an Ergon node.
inline constexpr std::size_t kMostForeignAliases = 65'536;

// Any thread.

// Returns a PID of no process: its creation is 0, and its id has kAliasBit.
[[nodiscard]] gen::PID PidOfAlias(const ForeignAlias& alias);
// Returns the same; the empty PID if the alias stands for one that is not in the table any more.
[[nodiscard]] gen::PID PidOfAlias(gen::Alias alias);
// Returns the alias that a PID stands for; empty if it is not in the table any more.
[[nodiscard]] std::optional<ForeignAlias> ForeignAliasOf(gen::PID pid);
// Returns the alias as a gen::Alias; one that stands for it if it does not fit.
[[nodiscard]] gen::Alias AliasOf(const ForeignAlias& alias);

// Returns whether an alias is one that AliasOf has made for another. Only this program knows for which. The numbers of
// our own aliases, which are counted, never have that bit.
inline constexpr std::uint64_t kStandsForAnother = std::uint64_t{1} << 62;
[[nodiscard]] inline bool StandsForAnother(gen::Alias alias) noexcept {
  return (alias.id & kStandsForAnother) != 0;
}

// These stand around a fork (core::WatchForks), so that no other thread holds the lock of that table then.
void LockForeignAliases() noexcept;
void UnlockForeignAliases() noexcept;  // also in the new process

inline constexpr std::uint64_t kAliasBit = std::uint64_t{1} << 63;
[[nodiscard]] inline bool IsAlias(gen::PID pid) noexcept {
  return pid.creation == 0 && (pid.id & kAliasBit) != 0;
}

}  // namespace ergon::node
