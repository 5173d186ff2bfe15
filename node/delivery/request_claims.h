// Beginning with a request and its time-out exclude each other.
//
// The decision is made at the caller: the word that a process waits with in a Call (core::AwaitState), or an entry in
// AwaitedResponses or PendingCalls. A handler's process notes the beginning there first. A time-out that finds no note
// removes the wait, and a handler that would begin later finds no caller. So the caller knows which it was, and its
// error says it.
//
// Callers on other nodes do not send their time-outs, only that they wait no more: then the transport forgets the
// request, as when the connection is lost. A handler that would begin finds the request there, or does not begin.
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

  // Notes that a handler begins with a request that has a deadline. Returns false if the caller was told that the
  // request will not be handled, or has withdrawn the request.
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
