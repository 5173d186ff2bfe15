// The changes that an observer makes on request: of one process, or one pool.
#pragma once

#include <optional>
#include <string_view>

#include <ergon/gen/process.h>
#include <ergon/node/observer/http/exchange.h>
#include <ergon/node/observer/http/state.h>
#include <ergon/node/observer/views/url_query.h>

namespace ergon::node {

// Ids of processes begin anew with each run of the program. Returns the answer to a request whose parameter "creation"
// is not that of this run; std::nullopt: it is, or there is no such parameter.
[[nodiscard]] std::optional<ObserverAnswer> RefuseOtherRun(const gen::Process& self,
                                                           const UrlQuery& parameters);

[[nodiscard]] bool IsAction(std::string_view path);
// Acts on a request that has passed the gate. 403: the observer may not act. Logs what was done, and to which process.
// Called by the process of the connection, which waits for the process that is changed, some seconds at most.
[[nodiscard]] ObserverAnswer Act(gen::Process& self, const ObserverState& state,
                                 std::string_view path, const UrlQuery& parameters);

}  // namespace ergon::node
