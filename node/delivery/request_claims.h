// Beginning with a request and its time-out exclude each other.
//
// What decides is at the caller: the word that a process waits with in a Call (core::AwaitState), or
// an entry in AwaitedResponses or PendingCalls. Whoever begins notes it there first; a time-out that
// finds no note takes the caller away, and the one who would begin finds nobody. So the caller knows
// which it was, and its error says it.
//
// Callers of other nodes say nothing of their time-outs, but that they wait no more: the transport forgets the request
// then, as with the connection. Whoever begins finds it there, or does not begin.
#pragma once

#include <cstdint>

#include <ergon/core/clock.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/pending_calls.h>

namespace ergon::node {

// The deadline of a request of another node, which may be withdrawn at any time.
inline constexpr std::int64_t kUntilWithdrawn = core::kNever;

// Any thread.
class RequestClaims {
 public:
  RequestClaims(const Addresses& addresses, PendingCalls& pending_calls, const core::Clock& clock)
      : addresses_(addresses), pending_calls_(pending_calls), clock_(clock) {}

  // Before anybody begins with a request that has a deadline. False: its caller was told that it will
  // not be handled, or it has withdrawn the request.
  [[nodiscard]] bool Begin(const core::Envelope& request) {
    // Nearly always: a process of this node waits for it in a Call.
    const gen::PID from = gen::PID::FromAddress(request.from);
    ProcessSlot* const caller =
        from.node == addresses_.node() ? addresses_.table().Find(from.id) : nullptr;
    if (caller != nullptr && caller->await().NoteBegun(request.ref)) [[likely]]
      return true;
    return BeginOther(request);
  }

 private:
  [[nodiscard]] bool BeginOther(const core::Envelope& request);

  const Addresses& addresses_;
  PendingCalls& pending_calls_;
  const core::Clock& clock_;
};

}  // namespace ergon::node
