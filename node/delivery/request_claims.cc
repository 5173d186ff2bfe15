#include <ergon/node/delivery/request_claims.h>

#include <ergon/node/delivery/transport.h>

namespace ergon::node {

bool RequestClaims::BeginOther(const core::Envelope& request) {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.node != addresses_.node()) [[unlikely]] {
    const Transport* const transport = addresses_.TransportTo(from);
    return transport == nullptr || transport->IsAwaited(from, request.ref);
  }
  const bool is_from_node = from.id == Addresses::kNodeId;
  ProcessSlot* const caller = is_from_node ? nullptr : addresses_.table().Find(from.id);
  const bool is_awaited = is_from_node        ? pending_calls_.NoteBegun(request.ref)
                          : caller != nullptr ? caller->NoteBegun(request.ref)
                                              : false;
  if (is_awaited) [[likely]]
    return true;
  // Nobody waits. Either the time was up: then it is so here, too, for it was before this look. Or
  // the caller is being ended, or has its answer from elsewhere: what it has asked for is still done.
  return clock_.Now() < request.deadline;
}

}  // namespace ergon::node
