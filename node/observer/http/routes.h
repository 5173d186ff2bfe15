// What an observer answers to which request.
#pragma once

#include <ergon/gen/process.h>
#include <ergon/node/observer/http/exchange.h>
#include <ergon/node/observer/http/state.h>

namespace ergon::node {

// Returns the answer to a request. Of the request it repeats only numbers. Called by the process of the connection,
// which may wait.
[[nodiscard]] ObserverAnswer AnswerTo(gen::Process& self, ObserverState& state,
                                      const ObserverRequest& request);

}  // namespace ergon::node
