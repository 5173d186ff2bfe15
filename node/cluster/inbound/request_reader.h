// Who asks in a request of another node, and where the answer goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/signals/control_reader.h>

namespace ergon::dist {

// Returns the alias in the tag of a request: [alias | Alias], or [[alias | Alias] | _], as gen:reply knows them. Empty:
// there is none.
[[nodiscard]] std::string_view AliasIn(std::string_view tag, std::size_t max_depth);

// Reads {Caller, Tag}. Returns false if that is not next, or if the caller is not a process of `peer`.
[[nodiscard]] bool ReadCaller(ControlReader& reader, gen::Atom peer, std::size_t max_depth,
                              PeerState::Request& request);

// Notes a request that waits for its answer, and returns its number. Takes the lock.
std::uint64_t NoteRequest(Connection& connection, PeerState::Request request);

}  // namespace ergon::dist
