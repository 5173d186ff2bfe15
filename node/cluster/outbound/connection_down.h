// What this node does when a connection is lost.
#pragma once

#include <ergon/gen/atom.h>
#include <ergon/gen/log.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/connection/peer_failures.h>
#include <ergon/node/cluster/exports/remote_code.h>
#include <ergon/node/cluster/extension/remote_events.h>
#include <ergon/node/cluster/groups/process_groups.h>
#include <ergon/node/cluster/outbound/message_sender.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>

namespace ergon::dist {

// The thread of the network.
class ConnectionDown {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    node::Addresses& addresses;
    node::Delivery& delivery;
    node::Relations& relations;
    node::ExitSignals& exit_signals;
    node::Drops& drops;
    node::MessageTotals& totals;
    gen::LogSink& log;
    Connections& connections;
    PeerFailures& failures;
    ProcessGroups& groups;
    RemoteCode& code;
    RemoteEvents& events;
    MessageSender& messages;
  };
  explicit ConnectionDown(const Needs& needs) : needs_(needs) {}

  // Tells every link, monitor, request and subscription with that node, counts the messages that were not sent, and
  // lets those who wait for room try again.
  void Handle(Connection& connection, const Connection::Rest& rest) noexcept;

 private:
  void LogLoss(gen::Atom node, const Connection::Rest& rest);
  // Tells the links and monitors of both sides.
  void EndRelations(const Connection::Rest& rest);
  void EndLink(gen::PID local, gen::PID remote, bool in_order);

  const Needs needs_;
};

}  // namespace ergon::dist
