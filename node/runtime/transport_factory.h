// How a node gets its transport to other nodes.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <ergon/gen/network.h>
#include <ergon/gen/result.h>
#include <ergon/gen/wire_types.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/delivery/transport.h>
#include <ergon/node/diagnosis/node_log.h>
#include <ergon/node/events/publishing.h>
#include <ergon/node/groups/groups.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/spawning/spawning.h>

namespace ergon::node {

// The factory behind a gen::Network. The parts of the node that it needs outlive the transport.
class TransportFactory : public gen::Network {
 public:
  struct Needs {
    Addresses& addresses;
    Delivery& delivery;
    Relations& relations;
    ExitSignals& exit_signals;
    Groups& groups;
    Publishing& publishing;
    Spawning& spawning;
    Drops& drops;
    MessageTotals& totals;
    NodeLog& log;
  };
  // Opens the transport. `options` override those with which this was made. Returns kIncorrect for an option, or a type
  // in `types`; kTaken if another node has this name; kInternal for a socket. The node is ready then, except for its
  // transport.
  [[nodiscard]] virtual gen::Result<std::unique_ptr<Transport>> Open(
      const Needs& needs, const gen::WireTypes& types,
      const std::vector<gen::NetworkOption>& options) const = 0;
};

}  // namespace ergon::node
