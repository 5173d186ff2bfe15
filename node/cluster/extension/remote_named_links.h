// Links by a name or an alias, across Ergon nodes: what the other node says of them.
#pragma once

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/erlang/terms/atom_budget.h>
#include <ergon/node/links/relations.h>

namespace ergon::dist {

// The thread of the network.
class RemoteNamedLinks {
 public:
  RemoteNamedLinks(node::Addresses& addresses, node::Relations& relations, AtomBudget& atoms)
      : addresses_(addresses), relations_(relations), atoms_(atoms) {}

  // `from` has linked itself with the process `watched`, or with a name or an alias that nobody has.
  void HandleLink(Connection& connection, const ErgonMessage& message, gen::PID from,
                  gen::PID watched);
  void HandleMakerEnd(Connection& connection, const ErgonMessage& message);
  void HandleUnlinked(Connection& connection, const ErgonMessage& message);
  // Tells the makers of such links that the links have ended, because the peer does not run Ergon.
  void Refuse(Connection& connection);

 private:
  node::Addresses& addresses_;
  node::Relations& relations_;
  AtomBudget& atoms_;
};

}  // namespace ergon::dist
