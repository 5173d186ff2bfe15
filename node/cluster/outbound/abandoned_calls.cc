#include <ergon/node/cluster/outbound/abandoned_calls.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/signals/monitor_signals.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/delivery/remote_names.h>

namespace ergon::dist {
namespace {

// So many are ended before others may have the lock.
constexpr std::size_t kAtOnce = 256;

// With the lock.
void End(Connection& connection, const node::Addresses& addresses, std::uint64_t id) {
  auto& calls = connection.peer_state().calls;
  const auto found = calls.find(id);
  if (found == calls.end()) return;  // its answer has come meanwhile
  const PeerState::Call& call = found->second;
  // Without the answer the values of the subscription would be believed, until its process has ended that.
  if (call.question == PeerState::ErgonQuestion::kSubscribe &&
      connection.peer_state().SubscriptionOf(call, id) != nullptr) {
    return;
  }
  // Only Ergon nodes know the end of a monitor by an alias, and by it that nobody waits for an inspection.
  const bool is_for_ergon = call.question == PeerState::ErgonQuestion::kCallOfAlias ||
                            call.question == PeerState::ErgonQuestion::kInspect;
  const bool is_monitor =
      call.question == PeerState::ErgonQuestion::kNone || (is_for_ergon && !connection.IsForeign());
  if (is_monitor) {
    const std::string reference = ReferenceOf(id, addresses.node(), addresses.creation());
    connection.Send(EndOfMonitor(call.local, call.remote, reference), SentAs::kOwn);
    if (call.spawns && !node::IsName(call.remote)) {
      EndAbandoned(connection, addresses.NodePid(), call.remote, SentAs::kOwn);
    }
  }
  calls.erase(found);
}

}  // namespace

void EndAbandonedCalls(Connection& connection, const node::Addresses& addresses,
                       node::Delivery& delivery) {
  // Senders wait for the lock, to other nodes, too: whether somebody waits is asked without it.
  std::vector<std::pair<std::uint64_t, gen::PID>> calls;
  try {
    const auto lock = connection.Lock();
    calls.reserve(connection.peer_state().calls.size());
    for (const auto& [id, call] : connection.peer_state().calls) calls.emplace_back(id, call.local);
  } catch (const std::bad_alloc&) {
    return;  // until the next tick
  }
  std::erase_if(calls, [&](const auto& call) {
    return delivery.IsAwaited(call.second, addresses.RefOf(call.first));
  });
  for (std::size_t i = 0; i < calls.size(); i += kAtOnce) {
    const auto lock = connection.Lock();
    const std::size_t end = std::min(calls.size(), i + kAtOnce);
    for (std::size_t at = i; at < end; ++at) End(connection, addresses, calls[at].first);
  }
}

}  // namespace ergon::dist
