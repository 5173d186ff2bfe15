// Notices of ends that are to be handled behind the messages that were sent before (gen::NoticeOrder).
#include <utility>

#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/process/runner.h>

namespace ergon::node {

// Whoever sends the notice has pushed it to the express stack after its messages to Main, so these are there when it is
// found: to be behind them it need only be pushed again, to Main. That exceeds the bound: nobody could be told
// otherwise.
bool ProcessRunner::PutInOrder(core::Envelope& notice) {
  if (notice.lane == core::Lane::kMain) {  // it has waited its turn
    if ((notice.flags & core::Envelope::kFlagInOrder) != 0) CountOwnInMain(-1);
    notice.flags &= static_cast<std::uint8_t>(~core::Envelope::kFlagInOrder);
    return false;
  }
  if (IsPool() || notice.generation != Generation()) return false;
  if (KindOf(notice) == gen::EnvelopeKind::kExit &&
      (!end_requests_.TrapsExits() || rooms_.exit_signals.IsStop(*this, notice) ||
       rooms_.exit_signals.EndsWaits(*this, notice, end_requests_.RuleForExits()))) {
    return false;
  }
  if (!Relations::IsInOrder(*this, notice)) return false;
  mailbox_.Detach(&notice);
  if (current_ == &notice) current_ = nullptr;
  notice.lane = core::Lane::kMain;
  notice.flags |= core::Envelope::kFlagInOrder;
  CountOwnInMain(1);
  if (taking_.HasQueue()) {
    GetQueueLane()->PutBehind(core::EnvelopePtr(&notice), mailbox_);
  } else {
    mailbox_.PutLast(&notice);
  }
  return true;
}

}  // namespace ergon::node
