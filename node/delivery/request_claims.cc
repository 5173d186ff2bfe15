// Beginning with a request and its time-out exclude each other.
//
// What decides is at the caller: the word that a process waits with in a Call (core::AwaitState), or
// an entry in AwaitedResponses or PendingCalls. Whoever begins notes it there first; a time-out that
// finds no note takes the caller away, and the one who would begin finds nobody. So the caller knows
// which it was, and its error says it.
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/unique_id.h>

namespace ergon::node {

bool Runtime::Begin(const core::Envelope& request) {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.node != name_) return true;
  Process* const caller = from.id == kNodeId ? nullptr : table_.Find(from.id);
  const bool is_awaited = from.id == kNodeId  ? pending_calls_.NoteBegun(request.ref)
                          : caller != nullptr ? caller->NoteBegun(request.ref)
                                              : false;
  if (is_awaited) [[likely]]
    return true;
  // Nobody waits. Either the time was up: then it is so here, too, for it was before this look. Or
  // the caller is being ended, or has its answer from elsewhere: what it has asked for is still done.
  return clock_->Now() < request.deadline;
}

void Runtime::ExpireWaitFor(const core::Envelope& request) {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.node != name_) return;
  if (from.id == kNodeId) {
    pending_calls_.Expire(request.ref);
  } else if (Process* caller = table_.Find(from.id)) {
    if (IsRequestId(request.ref)) {
      caller->ExpireRequest(request.ref);
    } else {
      Process::ExpireWait(caller, request.ref);
    }
  }
}

}  // namespace ergon::node
