#include <ergon/gen/group_messenger.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <ergon/gen/error.h>

namespace ergon::gen {
namespace {

// Returns whether another member may take a message that this one has not taken.
bool IsOfReceiver(const Error& error) {
  return error == ErrProcessMailboxFull || error == ErrProcessTerminated ||
         error == ErrProcessUnknown || error == ErrOverloaded || error == ErrBusy ||
         error == ErrNoConnection || error == ErrProcessIncarnation;
}

}  // namespace

Result<PID> GroupMessenger::SendEnvelopeToOneOf(Atom group, core::EnvelopePtr& envelope) {
  auto next = OneOf(group);
  if (!next) return next;
  auto sent = SendEnvelope(*next, envelope);
  if (sent) return next;
  if (!IsOfReceiver(sent.error())) return std::move(sent.error());
  // That a member is full says more than that another is just ending.
  Error why = std::move(sent.error());
  // The other members, from the next one on. A member with several memberships is tried once.
  std::vector<PID> others = GroupMembers(group);
  const auto found = std::find(others.begin(), others.end(), *next);
  if (found != others.end()) std::rotate(others.begin(), found, others.end());
  std::set<PID> tried{*next};
  for (const PID other : others) {
    if (!tried.insert(other).second) continue;
    sent = SendEnvelope(other, envelope);
    if (sent) return other;
    if (!IsOfReceiver(sent.error())) return std::move(sent.error());
    if (why != ErrProcessMailboxFull) why = std::move(sent.error());
  }
  return why;
}

}  // namespace ergon::gen
