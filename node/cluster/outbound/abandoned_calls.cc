#include <ergon/node/cluster/outbound/abandoned_calls.h>

#include <string>

#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/signals/monitor_signals.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/delivery/remote_names.h>

namespace ergon::dist {

void EndAbandonedCalls(Connection& connection, const node::Addresses& addresses,
                       node::Delivery& delivery) {
  const auto lock = connection.Lock();
  auto& calls = connection.peer_state().calls;
  for (auto at = calls.begin(); at != calls.end();) {
    const auto& [id, call] = *at;
    // The caller is of this node (RequestSender::Send): no other connection is locked for it.
    if (delivery.IsAwaited(call.local, addresses.RefOf(id))) {
      ++at;
      continue;
    }
    // Without the answer the values of the subscription would be believed, until its process has ended that.
    if (call.question == PeerState::ErgonQuestion::kSubscribe &&
        connection.peer_state().SubscriptionOf(call, id) != nullptr) {
      ++at;
      continue;
    }
    // Only Ergon nodes know the end of a monitor by an alias.
    if (call.question != PeerState::ErgonQuestion::kNone &&
        (call.question != PeerState::ErgonQuestion::kCallOfAlias || connection.IsForeign())) {
      at = calls.erase(at);
      continue;
    }
    const std::string reference = ReferenceOf(id, addresses.node(), addresses.creation());
    connection.Send(EndOfMonitor(call.local, call.remote, reference), SentAs::kOwn);
    if (call.spawns && !node::IsName(call.remote)) {
      EndAbandoned(connection, addresses.NodePid(), call.remote, SentAs::kOwn);
    }
    at = calls.erase(at);
  }
}

}  // namespace ergon::dist
