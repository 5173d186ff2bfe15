// What nodes tell each other of their groups of processes, as values and as terms: the messages of Erlang's module pg.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>

namespace ergon::dist {

// The name of the process that speaks for the groups of a node, and of its scope: pg has others that users start.
inline constexpr std::string_view kGroupScope = "pg";

// Members by group; a process may be there several times.
using MembersByGroup = std::map<gen::Atom, std::multiset<gen::PID>>;

// A message of a scope process to another one.
struct GroupMessage {
  enum class Kind : std::uint8_t {
    kDiscover,  // `peer` is there, and wants to know who is in the groups here
    kSync,      // these are all members there, in all groups that have some
    kJoin,      // these have joined the only one of `groups`
    kLeave,     // `pids` have left each of `groups`, whose own pids are empty
  };
  struct Group {
    std::string_view name;  // UTF-8; a view of the message
    std::vector<gen::PID> pids;
  };
  Kind kind = Kind::kDiscover;
  gen::PID peer;  // the scope process that tells it
  std::vector<Group> groups;
  std::vector<gen::PID> pids;
  // Names of groups are terms of any kind in Erlang, and atoms here. A group with another name is not in `groups`; this
  // is the first such name, a view of the message, or empty.
  std::string_view left_out;
  // The first process in the message that is of another node than the sender, which may not speak for it. Its node is
  // empty if it is not known here. Further such processes are left out.
  std::optional<gen::PID> of_another;
};

// Returns the message in a checked term that came from `node`, or nothing if the term is something else.
[[nodiscard]] std::optional<GroupMessage> ReadGroupMessage(std::string_view term, gen::Atom node,
                                                           std::size_t max_depth);

// These append terms. Names have to be UTF-8 (see IsGroupOfErlang).
void AppendDiscover(std::string& out, gen::PID self);
void AppendSync(std::string& out, gen::PID self, const MembersByGroup& members);
void AppendJoin(std::string& out, gen::PID self, gen::Atom group, std::span<const gen::PID> pids);
void AppendLeave(std::string& out, gen::PID self, gen::Atom group, gen::PID pid, std::size_t times);

// Returns how many members of `node` fit at least into a message of so many bytes, together with the name of their
// group.
[[nodiscard]] std::size_t MembersThatFit(std::size_t bytes, gen::Atom node);

// Returns whether that name can be an atom in Erlang, too.
[[nodiscard]] bool IsGroupOfErlang(gen::Atom group);

}  // namespace ergon::dist
