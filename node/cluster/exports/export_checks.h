// What is wrong with the functions and behaviours that a node registers for others.
#pragma once

#include <ergon/gen/result.h>
#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

// Returns kIncorrect, with the name, if Erlang has no such name, if it is registered twice, or if nothing is behind it.
[[nodiscard]] gen::Result<void> CheckRemoteCode(const RemoteFunctions& functions,
                                                const RemoteBehaviors& behaviors);

}  // namespace ergon::dist
