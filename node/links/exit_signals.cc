#include <ergon/node/links/exit_signals.h>

#include <utility>

#include <ergon/gen/exit_signal.h>
#include <ergon/gen/notices.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/transport.h>
#include <ergon/node/links/stale_signals.h>

namespace ergon::node {

void ExitSignals::Send(gen::PID to, gen::PID from, const gen::Reason& reason, std::uint64_t ref,
                       bool in_order, gen::TraceId trace) {
  if (Transport* const transport = addresses_.TransportTo(to)) {
    transport->Exit(from, to, reason);
    return;
  }
  auto envelope = core::MakeEnvelope<gen::MessageExitPID>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kExit), core::Lane::kUrgent,
      gen::MessageExitPID{from, reason});
  envelope->from = from.ToAddress();
  envelope->ref = ref;
  if (in_order) envelope->flags |= core::Envelope::kFlagInOrder;
  if (trace != 0) gen::MarkTraced(*envelope, trace);
  Deliver(to, std::move(envelope));
}

void ExitSignals::Deliver(gen::PID to, core::EnvelopePtr signal) {
  ProcessSlot* slot = addresses_.Find(to);
  if (slot == nullptr) return;
  const EndRequests& requests = slot->end_requests();
  const EndRequests::ExitRule rule = requests.RuleForExits();
  const bool ends = EndsWaits(*slot, *signal, rule);
  const core::Envelope head = *signal;  // delivered, it may be gone
  if (!delivery_.Deliver(to, signal)) return;
  // A signal that ends no wait can wait as well: whoever sends many of them, as a peer may, would have the process look
  // through all of them for each. If the process has changed how it takes them meanwhile, it may have looked at what
  // had arrived just before the push; partner: ProcessRunner::SettleParked.
  if (ends || requests.RuleForExits() != rule) Interrupt(*slot, to, ends ? &head : nullptr);
}

void ExitSignals::Interrupt(ProcessSlot& slot, gen::PID pid, const core::Envelope* end) {
  // A process that is suspended in a call has to look at the signal. Partner:
  // ProcessRunner::SettleParked, which says "parked" and then looks at the express stack, while here that
  // was pushed to first.
  if (slot.await().Unpark()) slot.Schedule();
  if (end == nullptr) return;
  const std::uint64_t child = slot.starting_child();
  // A stale signal, as from a process that this one has unlinked meanwhile, must not end a child that is starting.
  // Looked at now: while a child is starting, its parent unlinks nobody.
  if (child == 0 || IsStale(slot, *end)) return;
  // It is this process's child only if the slot has not changed hands until after that look.
  if (addresses_.Find(pid) != nullptr) (void)Kill(addresses_.PidOf(child));
}

gen::Result<void> ExitSignals::SendExit(gen::PID from, const gen::Target& to,
                                        const gen::Reason& reason, gen::TraceId trace) {
  auto pid = addresses_.Resolve(to);
  if (!pid) return std::move(pid.error());
  if (Transport* const transport = addresses_.TransportTo(*pid)) {
    return transport->ExitRequest(from, *pid, reason, trace);
  }
  if (addresses_.Find(*pid) == nullptr) return addresses_.WhyUnreachable(*pid);
  if (reason.kind() == gen::ReasonKind::kKill) return Kill(*pid);
  Send(*pid, from, reason, gen::kExplicitExit, false, trace);
  return {};
}

gen::Result<void> ExitSignals::Kill(gen::PID pid) {
  ProcessSlot* slot = addresses_.Find(pid);
  if (slot == nullptr) return addresses_.WhyUnreachable(pid);
  auto envelope =
      core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kKill), core::Lane::kUrgent);
  envelope->from = addresses_.NodePid().ToAddress();
  const core::Envelope head = *envelope;
  auto sent = delivery_.Deliver(pid, envelope);
  if (!sent) return sent;
  slot->end_requests().NoteKilled(GenerationOf(pid));
  Interrupt(*slot, pid, &head);
  return {};
}

gen::Result<void> ExitSignals::StopAfterQueue(gen::PID pid, const gen::Reason& reason) {
  ProcessSlot* slot = addresses_.Find(pid);
  if (slot == nullptr) return addresses_.WhyUnreachable(pid);
  auto asked = PushStop(*slot, pid, reason);
  if (!asked) return asked;
  slot->end_requests().NoteStopAsked(GenerationOf(pid));
  Interrupt(*slot, pid, nullptr);  // it may be in AwaitOrStop
  // Sequentially consistent; partner: ProcessRunner::SetSuspended. Nobody may be left to resume it. A pool may hold
  // its Main lane, in which the order waits: the signal makes it look again (ProcessRunner::TakesMain).
  if (slot->IsHeld() || slot->IsPool()) Resume(pid);
  return asked;
}

void ExitSignals::Resume(gen::PID pid) {
  auto resume =
      core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResume), core::Lane::kUrgent);
  resume->from = addresses_.NodePid().ToAddress();
  (void)delivery_.Deliver(pid, resume);
}

gen::Result<void> ExitSignals::PushStop(ProcessSlot& slot, gen::PID pid,
                                        const gen::Reason& reason) {
  auto envelope = core::MakeEnvelope<gen::Reason>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kStopAfterThis), core::Lane::kMain, reason);
  envelope->from = addresses_.NodePid().ToAddress();
  envelope->generation = GenerationOf(pid);
  core::PushOutcome outcome = slot.mailbox().PushBeyondBound(envelope.get());
  if (outcome == core::PushOutcome::kRedirected) {
    QueueLane* lane = slot.GetQueueLane();
    if (lane != nullptr && lane->IsOf(GenerationOf(pid))) {
      if (lane->Stop(GenerationOf(pid), envelope, slot.mailbox()) != QueueLane::Outcome::kQueued) {
        return gen::ErrProcessTerminated;
      }
      if (slot.mailbox().WakeIfIdle()) slot.Schedule();
      return {};
    }
    // A pool has nothing in its own Main lane: the signal need not queue behind anything.
    envelope->lane = core::Lane::kUrgent;
    outcome = slot.mailbox().Push(envelope.get());
  }
  // It is about to end, as it was asked before.
  if (outcome == core::PushOutcome::kClosed && slot.HasProcess(pid)) return {};
  return delivery_.Accept(slot, pid, outcome, envelope);
}

bool ExitSignals::EndsWaits(const ProcessSlot& slot, const core::Envelope& envelope,
                            EndRequests::ExitRule rule) const {
  const bool is_child =
      core::IsType<gen::MessageExitPID>(envelope.type) && envelope.ref == gen::kChildExit;
  return IsStop(slot, envelope, rule.traps && (!rule.heeds || is_child));
}

bool ExitSignals::IsStop(const ProcessSlot& slot, const core::Envelope& envelope,
                         bool traps_exits) const {
  const gen::EnvelopeKind kind = KindOf(envelope);
  if (kind == gen::EnvelopeKind::kKill) return true;
  if (kind != gen::EnvelopeKind::kExit) return false;
  const bool is_of_process = core::IsType<gen::MessageExitPID>(envelope.type);
  const gen::PID from = gen::PID::FromAddress(envelope.from);
  if (is_of_process && from == addresses_.PidOf(slot.parent_id())) return true;
  if (traps_exits) return false;
  return envelope.ref == gen::kExplicitExit || !gen::ReasonOfExit(envelope)->IsNormal();
}

core::EnvelopePtr MakeLossSignal(gen::PID remote, gen::Ref ref) {
  auto signal = core::MakeEnvelope<gen::MessageExitPID>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kExit), core::Lane::kUrgent,
      gen::MessageExitPID{remote, gen::Reason::NoConnection()});
  signal->from = remote.ToAddress();
  signal->ref = ref.id;
  return signal;
}

}  // namespace ergon::node
