// What a process does itself with signals and notices: of the ends of others, of its own, and of requests that it
// holds.
#include <algorithm>

#include <ergon/gen/event.h>
#include <ergon/gen/exit_signal.h>
#include <ergon/gen/group.h>
#include <ergon/gen/notices.h>
#include <ergon/node/delivery/call_edges.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/groups/groups.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/process/runner.h>

namespace ergon::node {

bool ProcessRunner::HandleExit(const core::Envelope& envelope) {
  const bool from_link = envelope.ref != gen::kExplicitExit;
  // A link's signal counts once, and not after Unlink.
  if (from_link && !rooms_.relations.TakeLinkOf(*this, envelope)) return false;
  if (!rooms_.exit_signals.IsStop(*this, envelope)) return end_requests_.TrapsExits();
  AskToStop(gen::Reason(*gen::ReasonOfExit(envelope)));
  return false;
}

bool ProcessRunner::HandleDown(const core::Envelope& envelope) {
  if (core::IsType<gen::MessageDownEvent>(envelope.type)) {
    return Relations::TakeSubscription(*this, envelope.ref);
  }
  if (core::IsType<gen::MessageGroupJoined>(envelope.type) ||
      core::IsType<gen::MessageGroupLeft>(envelope.type)) {
    return Groups::IsMonitoredAs(*this, envelope.ref);
  }
  return envelope.ref == 0 || Relations::TakeMonitor(*this, envelope.ref);
}

void ProcessRunner::TakeInheritance(core::Envelope& envelope) {
  auto& inheritance = *envelope.ValueAs<gen::MessageInheritance>();
  if (inheritance.late) GetPoolSlot().late.fetch_sub(1, std::memory_order_relaxed);
  Hold(std::count_if(inheritance.messages.begin(), inheritance.messages.end(),
                     [](const core::EnvelopePtr& left) { return IsMessage(*left); }));
}

void ProcessRunner::SetSuspended(core::Envelope& envelope) {
  const bool suspend = KindOf(envelope) == gen::EnvelopeKind::kSuspend;
  // Sequentially consistent, and the look at the stop too; partner: ExitSignals::StopAfterQueue. One of the
  // two sees that a process that was asked to end must not be held.
  suspended_.store(suspend, std::memory_order_seq_cst);
  if (suspend && IsAskedToStop()) suspended_.store(false, std::memory_order_relaxed);
  NoteWhetherMainIsOpen();
  (void)rooms_.delivery.Respond(
      gen::PID::FromAddress(envelope.from), envelope.ref,
      core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse), core::Lane::kMain));
}

void ProcessRunner::TakeOverRequest(const core::Envelope& notice) {
  const gen::PID from = gen::PID::FromAddress(notice.from);
  // It may have been answered before the notice came.
  if (rooms_.delivery.IsAwaited(from, {notice.ref, from.node, from.creation}))
    NoteOpenRequest(notice);
}

void ProcessRunner::NoteOpenRequest(const core::Envelope& envelope) {
  rooms_.call_edges.NoteTaken(envelope, CallEdge::Stage::kLeftOpen);
  ProcessCold& cold = Cold();
  const gen::PID from = gen::PID::FromAddress(envelope.from);
  if (cold.open_requests.size() >= cold.open_requests_limit) {
    // Answered by others, or given up by their callers: nobody waits for those any more.
    std::erase_if(cold.open_requests, [&](const auto& open) {
      return !rooms_.delivery.IsAwaited(open.second.from, open.first);
    });
    cold.open_requests_limit = 2 * cold.open_requests.size() + ProcessCold::kOpenRequestsLimit;
  }
  cold.open_requests[{envelope.ref, from.node, from.creation}] = {from, ++cold.open_requests_seen};
}

}  // namespace ergon::node
