// Inspections of processes across Ergon nodes.
#pragma once

#include <cstdint>
#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/values/values.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>

namespace ergon::dist {

// The thread of the network.
class RemoteInspections {
 public:
  RemoteInspections(node::Addresses& addresses, node::Delivery& delivery, const Values& values)
      : addresses_(addresses), delivery_(delivery), values_(values) {}

  // Handles the question of `from` about `to`, a process of this node, or an empty PID.
  void HandleQuestion(Connection& connection, const ErgonMessage& question, gen::PID from,
                      gen::PID to);
  // Handles the answer {Word, Term} to the question `number` of this node; `word` is empty if the answer has another
  // form.
  void HandleAnswer(const PeerState::Call& question, std::uint64_t number, std::string_view word,
                    std::string_view term);

 private:
  node::Addresses& addresses_;
  node::Delivery& delivery_;
  const Values& values_;
};

}  // namespace ergon::dist
