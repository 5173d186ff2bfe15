#include <ergon/node/delivery/call_edges.h>

#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

CallEdge* CallEdges::EdgeOfCaller(const core::Envelope& request) const {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.id == Addresses::kNodeId || from.node != addresses_.node() || IsRequestId(request.ref)) {
    return nullptr;
  }
  const ProcessSlot* const caller = addresses_.table().Find(from.id);
  return caller == nullptr ? nullptr : caller->call_edge();
}

void CallEdges::Redirect(gen::PID worker, const core::Envelope& request) {
  // Without effect if it is not the caller itself who sends: the edge says so.
  if (CallEdge* const edge = EdgeOfCaller(request)) {
    edge->Redirect(request.ref, worker.id, TicketOf(addresses_.Find(worker), request));
  }
}

bool CallEdges::BeginMove(gen::PID to, const core::Envelope& request) {
  CallEdge* const edge = EdgeOfCaller(request);
  return edge != nullptr && edge->BeginMove(request.ref, to.id);
}

const ProcessSlot* CallEdges::EndMove(gen::PID from, std::uint64_t ref, gen::PID to,
                                      bool delivered) {
  const ProcessSlot* const caller = addresses_.table().Find(from.id);
  return caller->call_edge()->EndMove(ref, to.id, delivered) ? caller : nullptr;
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
  if (CallEdge* const edge = EdgeOfCaller(request)) edge->NoteTaken(request.ref, stage);
}

}  // namespace ergon::node
