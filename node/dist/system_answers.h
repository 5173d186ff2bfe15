// What Erlang's module sys is told of a process here.
#pragma once

#include <string>

#include <ergon/gen/messenger.h>
#include <ergon/node/dist/peer_state.h>

namespace ergon::dist {

// The answer to sys:get_state, get_status, suspend or resume: the process's own inspection as a map of binaries.
// `inspection` is null where none was asked for.
void AppendSystemAnswer(std::string& out, const PeerState::Request& request,
                        const gen::Inspection* inspection);

}  // namespace ergon::dist
