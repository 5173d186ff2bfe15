// What Erlang's module sys tells of a process here, when it is called on this node. What it asks a process itself is in
// system_answers.h.
#pragma once

#include <vector>

#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

// The page "State" of observer asks in this way.
void AddSysAnswers(std::vector<detail::RemoteFunction>& table);

}  // namespace ergon::dist
