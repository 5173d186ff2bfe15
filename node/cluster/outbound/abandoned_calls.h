// Requests of this node whose callers have stopped waiting.
#pragma once

#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>

namespace ergon::dist {

// Forgets these requests, and ends their monitors at the peer, and processes that were spawned for them. Takes the
// lock.
void EndAbandonedCalls(Connection& connection, const node::Addresses& addresses,
                       node::Delivery& delivery);

}  // namespace ergon::dist
