// What those who handle requests note at their callers, for the graph of who waits for whom.
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

  // The number of a Main-lane message that is sent to a process now, compared with those that it has
  // taken out of its mailbox; 0: not known. About right when others send too.
  [[nodiscard]] static std::uint32_t TicketOf(const ProcessSlot* to,
                                              const core::Envelope& envelope) {
    if (to == nullptr || envelope.lane != core::Lane::kMain || to->mailbox().IsRedirected()) {
      return 0;
    }
    return to->mailbox().TakenApprox() + to->mailbox().MainDepthApprox() + 1;
  }
  // A request goes to a worker of the pool that it was sent to.
  void Redirect(gen::PID worker, const core::Envelope& request);
  // The handler of a request gives no answer itself, or none yet.
  void NoteTaken(const core::Envelope& request, CallEdge::Stage stage);

 private:
  const Addresses& addresses_;
  PendingCalls& pending_calls_;
};

}  // namespace ergon::node
