// What an observer answers to which request.
#pragma once

#include <ergon/gen/process.h>
#include <ergon/node/observer/exchange.h>
#include <ergon/node/observer/state.h>

namespace ergon::node {

// Never tells anything that the request has said, but the numbers in it. By the process of the connection, which may wait.
[[nodiscard]] ObserverAnswer AnswerTo(gen::Process& self, const ObserverState& state,
                                      const ObserverRequest& request);

}  // namespace ergon::node
