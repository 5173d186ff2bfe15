#include <ergon/node/delivery/call_edges.h>

#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

std::uint32_t CallEdges::TicketOf(gen::PID to, const core::Envelope& envelope) const {
  const ProcessSlot* slot = envelope.lane == core::Lane::kMain && to.node == addresses_.node()
                                ? addresses_.table().Find(to.id)
                                : nullptr;
  if (slot == nullptr || slot->mailbox().IsRedirected()) return 0;
  return slot->mailbox().TakenApprox() + slot->mailbox().MainDepthApprox() + 1;
}

void CallEdges::Redirect(gen::PID worker, const core::Envelope& request) {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.id == Addresses::kNodeId || from.node != addresses_.node() || IsRequestId(request.ref)) {
    return;
  }
  // Without effect if it is not the caller itself who sends: its edge says so.
  const ProcessSlot* caller = addresses_.table().Find(from.id);
  CallEdge* edge = caller == nullptr ? nullptr : caller->call_edge();
  if (edge != nullptr) edge->Redirect(request.ref, worker.id, TicketOf(worker, request));
}

void CallEdges::NoteTaken(const core::Envelope& request, CallEdge::Stage stage) {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.node != addresses_.node() || IsRequestId(request.ref)) return;
  if (from.id == Addresses::kNodeId) {
    pending_calls_.NoteTaken(request.ref, stage);
    return;
  }
  const ProcessSlot* caller = addresses_.table().Find(from.id);
  CallEdge* edge = caller == nullptr ? nullptr : caller->call_edge();
  if (edge != nullptr) edge->NoteTaken(request.ref, stage);
}

}  // namespace ergon::node
