// What Erlang's modules application and appmon_info tell: the page "Applications" of observer.
#pragma once

#include <vector>

#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

void AddApplicationAnswers(std::vector<detail::RemoteFunction>& table);

}  // namespace ergon::dist
