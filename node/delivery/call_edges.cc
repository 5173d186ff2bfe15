#include <ergon/node/delivery/call_edges.h>

#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

void CallEdges::Redirect(gen::PID worker, const core::Envelope& request) {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.id == Addresses::kNodeId || from.node != addresses_.node() || IsRequestId(request.ref)) {
    return;
  }
  // Without effect if it is not the caller itself who sends: its edge says so.
  const ProcessSlot* caller = addresses_.table().Find(from.id);
  CallEdge* edge = caller == nullptr ? nullptr : caller->call_edge();
  if (edge != nullptr)
    edge->Redirect(request.ref, worker.id, TicketOf(addresses_.Find(worker), request));
}

CallEdge::View CallEdges::Of(const core::Envelope& request) const {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.node != addresses_.node() || IsRequestId(request.ref)) return {};
  if (from.id == Addresses::kNodeId) return pending_calls_.EdgeOf(request.ref);
  const ProcessSlot* const caller = addresses_.Find(from);
  const CallEdge::View edge = caller == nullptr ? CallEdge::View() : caller->Waited();
  return edge.id == request.ref ? edge : CallEdge::View();
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
