// What the handlers of requests note at the callers, for the graph of waiting processes.
#pragma once

#include <cstdint>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/pending_calls.h>
#include <ergon/node/process_state/call_edge.h>

namespace ergon::node {

// Any thread.
class CallEdges {
 public:
  CallEdges(const Addresses& addresses, PendingCalls& pending_calls)
      : addresses_(addresses), pending_calls_(pending_calls) {}

  // Returns the number of a Main-lane message that is sent to a process now, of those that were sent to it, modulo 2^22
  // and with a bit that says that there is one; 0: not known. Only about right when other senders are active.
  [[nodiscard]] static std::uint32_t TicketOf(const ProcessSlot* to,
                                              const core::Envelope& envelope) {
    if (to == nullptr || envelope.lane != core::Lane::kMain) return 0;
    return to->mailbox().NextNumber();
  }
  // Notes that a request goes to a worker of the pool that it was sent to.
  void Redirect(gen::PID worker, const core::Envelope& request);
  // Notes that a pool gives a request to `to`, which it has kept, or which has waited at a worker that has ended:
  // before it is delivered, and then how that went. Without effect if no process of this node waits for the answer.
  // EndMove returns whose edge is certain again, or null.
  [[nodiscard]] bool BeginMove(gen::PID to, const core::Envelope& request);
  [[nodiscard]] const ProcessSlot* EndMove(gen::PID from, std::uint64_t ref, gen::PID to,
                                           bool delivered);
  // Returns what the caller of a request has noted; without an id if it does not wait for the answer (any more), is of
  // another node, or has made the request without a stack.
  [[nodiscard]] CallEdge::View Of(const core::Envelope& request) const;
  // Notes that the handler of a request gives no answer itself, or none yet.
  void NoteTaken(const core::Envelope& request, CallEdge::Stage stage);

 private:
  // Null: it is no call of a process of this node.
  [[nodiscard]] CallEdge* EdgeOfCaller(const core::Envelope& request) const;

  const Addresses& addresses_;
  PendingCalls& pending_calls_;
};

}  // namespace ergon::node
