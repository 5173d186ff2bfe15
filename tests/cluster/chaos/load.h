// The load that a node puts on another one.
#pragma once

#include <ergon/gen/node.h>

#include <cluster/chaos/stage.h>

namespace ergon::chaos {

// Processes that send, call, monitor and link until the stage is stopping; it counts them.
void StartLoad(gen::Node& node, Stage& stage, const Peer& peer);

}  // namespace ergon::chaos
