// Who waits for whom, and circles of processes that wait for each other.
#pragma once

#include <vector>

#include <ergon/core/clock.h>
#include <ergon/gen/wait_edge.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/withdrawn_requests.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Any thread.
class WaitGraph {
 public:
  WaitGraph(const Addresses& addresses, Delivery& delivery, WithdrawnRequests& withdrawn,
            const core::Clock& clock)
      : addresses_(addresses), delivery_(delivery), withdrawn_(withdrawn), clock_(clock) {}

  // Call it after a process has sent a request, before it waits for the answer, and after a pool has given the request
  // of a process that waits to a worker: if that closes a circle of processes that wait for each other, one of them
  // gets kDeadlock.
  void BreakDeadlock(const ProcessSlot& caller);
  [[nodiscard]] std::vector<gen::WaitEdge> Edges() const;

 private:
  // One process of a chain, and whom it waits for.
  struct Link {
    const ProcessSlot* process;
    CallEdge::View edge;
    [[nodiscard]] bool Holds() const;
  };
  [[nodiscard]] bool FindCircle(const ProcessSlot& caller, std::vector<Link>& circle) const;

  const Addresses& addresses_;
  Delivery& delivery_;
  WithdrawnRequests& withdrawn_;
  const core::Clock& clock_;
};

}  // namespace ergon::node
