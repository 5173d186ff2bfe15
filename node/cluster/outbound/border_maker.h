// How a node gets its way to other nodes.
#pragma once

#include <memory>
#include <string_view>

#include <ergon/gen/network.h>
#include <ergon/gen/result.h>
#include <ergon/gen/wire_types.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/border.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/diagnosis/node_log.h>
#include <ergon/node/events/publishing.h>
#include <ergon/node/groups/groups.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/spawning/spawning.h>

namespace ergon::node {

// A border that is open until it is closed.
class OpenBorder : public Border {
 public:
  // Writes what waits, for a second at most, and closes all connections: links and monitors of other nodes are told
  // there. When all processes of the node have ended; may be called again.
  virtual void Close() = 0;
};

// What stands behind a gen::Network. The rooms that it needs outlive the border.
class BorderMaker : public gen::Network {
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
  // kIncorrect: an option, or a type in `types`; kTaken: another node has this name; kInternal: a socket. The node is
  // ready then, but for its border.
  [[nodiscard]] virtual gen::Result<std::unique_ptr<OpenBorder>> Open(
      const Needs& needs, const gen::WireTypes& types) const = 0;
};

}  // namespace ergon::node
