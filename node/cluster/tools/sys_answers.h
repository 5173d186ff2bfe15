// What functions of Erlang's module sys answer when they are called on this node. What they send to a process, and what
// that answers, is in system_answers.h.
#pragma once

#include <vector>

#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

// The page "State" of observer asks in this way.
void AddSysAnswers(std::vector<detail::RemoteFunction>& table);

}  // namespace ergon::dist
