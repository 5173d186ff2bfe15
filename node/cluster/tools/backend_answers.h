// What Erlang's module observer_backend answers to etop and observer.
#pragma once

#include <vector>

#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

void AddBackendAnswers(std::vector<detail::RemoteFunction>& table);

}  // namespace ergon::dist
