#include <ergon/node/delivery/delivery.h>

#include <mutex>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/gen/host/drop_reason_of.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/trace.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/transport.h>
#include <ergon/node/delivery/unmade_messages.h>

namespace ergon::node {
namespace {

// What a bounded mailbox without a queue of its own does with the newest.
gen::Overflow OverflowOf(const ProcessSlot& slot, gen::PID pid) {
  ProcessCold* cold = slot.ColdIfAny();
  if (cold == nullptr) return gen::Overflow::kReject;
  std::lock_guard lock(cold->lock);
  return slot.HasProcess(pid) ? cold->overflow : gen::Overflow::kReject;
}

}  // namespace

gen::Result<void> Delivery::Deliver(gen::PID to, core::EnvelopePtr& envelope) {
  const Attempt attempt = TryMain(to, envelope);
  if (!attempt.IsTaken()) [[unlikely]]
    return Complete(attempt, to, envelope);
  attempt.ScheduleIfDue();
  return {};
}

bool Delivery::DeliverTogether(gen::PID to, std::uint32_t messages, core::EnvelopePtr& envelope) {
  ProcessSlot* const slot = needs_.addresses.Find(to);
  if (slot == nullptr) return false;
  envelope->generation = GenerationOf(to);
  // For each of them, see MakeMessages.
  if (needs_.measuring_clock != nullptr) envelope->deadline = needs_.measuring_clock->Now();
  const Attempt attempt{slot, slot->mailbox().PushTogether(envelope.get(), messages)};
  if (!attempt.IsTaken()) return false;
  (void)envelope.release();
  attempt.ScheduleIfDue();
  return true;
}

bool Delivery::TakesTogether(gen::PID to) const {
  constexpr std::uint32_t kSmall = 16 * Gathering::kMostMessages;
  const ProcessSlot* const slot = needs_.addresses.Find(to);
  if (slot == nullptr || slot->mailbox().IsRedirected()) return false;
  const std::uint32_t capacity = slot->mailbox().capacity();
  return capacity == 0 || capacity >= kSmall;
}

gen::Result<void> Delivery::Complete(const Attempt& attempt, gen::PID to,
                                     core::EnvelopePtr& envelope) {
  if (attempt.slot == nullptr) [[unlikely]]
    return DeliverElsewhere(to, envelope);
  ProcessSlot& process = *attempt.slot;
  if (attempt.outcome == core::PushOutcome::kRedirected) return ToWorker(process, to, envelope);
  envelope->generation = GenerationOf(to);
  if (envelope->lane != core::Lane::kMain) return DeliverExpress(process, to, envelope);
  return Accept(process, to, process.mailbox().PushMain(envelope.get()), envelope);
}

gen::Result<void> Delivery::DeliverElsewhere(gen::PID to, core::EnvelopePtr& envelope) {
  Transport* const transport = needs_.addresses.TransportTo(to);
  if (transport == nullptr) return needs_.addresses.WhyUnreachable(to);
  if (IsTick(*envelope)) needs_.ticks.Lost(*envelope);  // it waits in no mailbox of this node
  return transport->Deliver(to, envelope);
}

gen::Result<void> Delivery::DeliverOrDrop(const gen::Target& to, core::EnvelopePtr envelope) {
  auto pid = needs_.addresses.Resolve(to);
  auto sent = pid ? Deliver(*pid, envelope) : gen::Result<void>(pid.error());
  if (!sent) {
    Drop(std::move(envelope), pid ? *pid : gen::PID(), gen::DropReasonOf(sent.error()),
         sent.error());
  }
  return sent;
}

gen::Result<void> Delivery::DeliverFromNode(gen::PID to, core::EnvelopePtr& envelope) {
  envelope->from = needs_.addresses.NodePid().ToAddress();
  NoteSent(*envelope);
  auto sent = Deliver(to, envelope);
  if (sent) needs_.totals.accepted.Add();
  return sent;
}

gen::Result<void> Delivery::DeliverExpress(ProcessSlot& process, gen::PID to,
                                           core::EnvelopePtr& envelope) {
  const bool is_message = IsMessage(*envelope);
  const bool is_question = KindOf(*envelope) == gen::EnvelopeKind::kInspect;
  // First: its receiver may count it as taken right after the push.
  if (is_message) process.NoteExpressSent();
  auto sent = Accept(process, to, process.mailbox().Push(envelope.get()), envelope);
  if (!sent && is_message) process.NoteExpressGone();
  // A handler that waits lets its process answer. Partner: ProcessRunner::SettleParked, as for signals.
  if (sent && is_question && process.await().Unpark()) process.Schedule();
  return sent;
}

gen::Result<void> Delivery::Accept(ProcessSlot& process, gen::PID to, core::PushOutcome outcome,
                                   core::EnvelopePtr& envelope) {
  if (outcome > core::PushOutcome::kMustSchedule)
    return NotAccepted(process, to, outcome, envelope);
  (void)envelope.release();
  if (outcome == core::PushOutcome::kMustSchedule) process.Schedule();
  return {};
}

gen::Result<void> Delivery::NotAccepted(ProcessSlot& process, gen::PID to,
                                        core::PushOutcome outcome, core::EnvelopePtr& envelope) {
  switch (outcome) {
    case core::PushOutcome::kRedirected:
      return ToWorker(process, to, envelope);
    case core::PushOutcome::kFull:
      return MailboxFull(process, to, envelope);
    default:
      return gen::ErrProcessTerminated;
  }
}

gen::Result<void> Delivery::Enqueue(ProcessSlot& process, QueueLane& lane, gen::PID to,
                                    core::EnvelopePtr& envelope) {
  // A pool tries all workers before one of them has to drop something.
  const bool only_if_room = IsRouted(*envelope) && !MakesRoom(*envelope);
  // Looked at first: the receiver may have ended when it is known what was dropped.
  const gen::PID parent = ParentOf(process, to);
  core::EnvelopePtr dropped;
  QueueLane::Outcome outcome = QueueLane::Outcome::kClosed;
  std::optional<gen::Error> thrown;
  try {
    outcome = lane.Push(GenerationOf(to), only_if_room, envelope, dropped, process.mailbox());
  } catch (...) {
    thrown.emplace(gen::ErrorCode::kInternal,
                   fmt::format("the mailbox of {} threw {}", to, core::ThrownText()));
  }
  if (outcome == QueueLane::Outcome::kQueued && process.mailbox().WakeIfIdle()) process.Schedule();
  // The fallback comes before any drop. What came through a pool is the pool's.
  const bool is_dropped =
      dropped != nullptr && (IsRouted(*dropped) || !ToFallback(process, to, dropped));
  if (is_dropped) DropOverflow(process, parent, std::move(dropped));
  if (thrown) return std::move(*thrown);
  if (outcome == QueueLane::Outcome::kClosed) return gen::ErrProcessTerminated;
  if (outcome == QueueLane::Outcome::kFull) return MailboxFull(process, to, envelope);
  return {};
}

gen::PID Delivery::ParentOf(const ProcessSlot& process, gen::PID pid) const {
  const std::uint64_t parent = process.ParentIdOf(pid);
  return parent == 0 ? gen::PID() : needs_.addresses.PidOf(parent);
}

PoolSlot* Delivery::CountOverflow(ProcessSlot& receiver, gen::PID pool,
                                  const core::Envelope& envelope) {
  receiver.Cold().counts.overflowed.fetch_add(1, std::memory_order_relaxed);
  if (!IsRouted(envelope) || !pool) return nullptr;
  // Not at the worker, which may have ended: its pool could not learn of it any more.
  const ProcessSlot* process = needs_.addresses.Find(pool);
  PoolSlot* slot = process == nullptr ? nullptr : process->pool();
  if (slot != nullptr) slot->overflowed.fetch_add(1, std::memory_order_relaxed);
  return slot;
}

void Delivery::DropOverflow(ProcessSlot& process, gen::PID pool, core::EnvelopePtr envelope) {
  if (PoolSlot* const slot = CountOverflow(process, pool, *envelope)) NoteShortage(*slot, pool);
  const gen::PID to = needs_.addresses.PidIn(process, envelope->generation);
  bool reports = false;
  if (IsRouted(*envelope)) {
    ProcessCold& cold = process.Cold();
    std::lock_guard lock(cold.lock);
    if (process.IsStill(to)) {  // else it is the next process, which never had this
      cold.counts.routed_overflowed.fetch_add(1, std::memory_order_relaxed);
      reports = process.routed_work().duty() == gen::WorkerDuty::kReport;
    }
  }
  const gen::PID waiting_pool = reports ? pool : gen::PID();
  if (!LateDrops::Keep(envelope, to, waiting_pool)) {
    DropPushedOut(std::move(envelope), to, waiting_pool, true);
  }
}

void Delivery::DropPushedOut(core::EnvelopePtr envelope, gen::PID receiver, gen::PID waiting_pool,
                             bool is_told) {
  Drop(std::move(envelope), receiver, gen::DropReason::kMailboxFull, gen::ErrProcessMailboxFull,
       is_told);
  if (waiting_pool) ReportProgress(receiver, waiting_pool);
}

void Delivery::ReportProgress(gen::PID worker, gen::PID pool) {
  core::EnvelopePtr report = core::MakeSignal(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kProgress), core::Lane::kSystem);
  report->from = worker.ToAddress();
  (void)Deliver(pool, report);  // a pool that is gone need not know
}

gen::Result<void> Delivery::MailboxFull(ProcessSlot& process, gen::PID to,
                                        core::EnvelopePtr& envelope) {
  if (ToFallback(process, to, envelope)) return {};
  // A pool that keeps messages until a worker has been replaced, or places them all itself.
  if (process.IsPool()) return RefusedByAll(process, to, IsRouted(*envelope));
  if (IsRouted(*envelope) && !MakesRoom(*envelope)) {
    return gen::ErrProcessMailboxFull;  // the pool tries the next worker
  }
  // A request's sender learns of it by this error, just as if it were answered.
  if (!IsRequest(*envelope) && !IsImportant(*envelope) &&
      OverflowOf(process, to) == gen::Overflow::kDropNewest) {
    const gen::PID parent = ParentOf(process, to);
    if (!parent) return gen::ErrProcessTerminated;  // it has ended since
    DropOverflow(process, parent, std::move(envelope));
    return {};
  }
  return gen::ErrProcessMailboxFull;
}

bool Delivery::ToFallback(ProcessSlot& process, gen::PID to, core::EnvelopePtr& envelope) {
  ProcessCold* cold = process.ColdIfAny();
  // What was passed on already stays where it is: fallbacks may form a circle.
  if (cold == nullptr || KindOf(*envelope) != gen::EnvelopeKind::kMessage ||
      IsImportant(*envelope) || core::IsType<gen::MessageFallback>(envelope->type)) {
    return false;
  }
  gen::ProcessFallback fallback;
  {
    std::lock_guard lock(cold->lock);
    if (process.HasProcess(to)) fallback = cold->fallback;
  }
  const gen::PID target =
      fallback.name.empty() ? gen::PID() : needs_.addresses.names().Find(fallback.name);
  if (!target || target == to) return false;
  const core::Address from = envelope->from;
  // A number of its timer, or the trace id.
  constexpr auto kMarks = core::Envelope::kFlagStamped | core::Envelope::kFlagTraced;
  const auto marks = static_cast<std::uint8_t>(envelope->flags & kMarks);
  const std::int64_t mark = envelope->deadline;
  const gen::TraceId behind = IsTick(*envelope) ? gen::TraceOf(*envelope) : 0;
  auto wrapped = core::MakeEnvelopeWith<gen::MessageFallback>(
      {.trace = behind}, static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage), core::Lane::kMain,
      gen::MessageFallback{to, std::move(fallback.tag), gen::OwnedMessage()});
  // Now that the memory is there: an exception before this loses no message.
  wrapped->ValueAs<gen::MessageFallback>()->message = gen::OwnedMessage(std::move(envelope));
  wrapped->from = from;
  wrapped->flags |= marks;
  wrapped->deadline = mark;
  if (Deliver(target, wrapped)) return true;
  envelope = wrapped->ValueAs<gen::MessageFallback>()->message.Release();  // the caller's again
  return false;
}

void Delivery::Drop(core::EnvelopePtr envelope, gen::PID to, gen::DropReason reason,
                    const gen::Error& error, bool is_told) {
  switch (KindOf(*envelope)) {
    case gen::EnvelopeKind::kInspect:
    case gen::EnvelopeKind::kSuspend:
    case gen::EnvelopeKind::kResume:
    case gen::EnvelopeKind::kHandedOver:
      RespondError(gen::PID::FromAddress(envelope->from), envelope->ref, error);
      break;
    case gen::EnvelopeKind::kRequest:
      needs_.drops.Note(*envelope, to, reason,
                        error);  // first: who has got the answer finds it counted
      if (reason == gen::DropReason::kExpired) {
        ExpireWaitFor(*envelope);
        break;
      }
      RespondError(gen::PID::FromAddress(envelope->from), envelope->ref, error);
      if (is_told) needs_.drops.Tell(std::move(envelope), to, reason, error);
      break;
    case gen::EnvelopeKind::kMessage:
      if (IsTick(*envelope)) needs_.ticks.Lost(*envelope);
      [[fallthrough]];
    case gen::EnvelopeKind::kEvent:
      needs_.drops.Note(*envelope, to, reason, error);
      if (is_told && reason != gen::DropReason::kExpired) {
        needs_.drops.Tell(std::move(envelope), to, reason, error);
      }
      break;
    case gen::EnvelopeKind::kInheritance:
      for (auto& left : envelope->ValueAs<gen::MessageInheritance>()->messages) {
        Drop(std::move(left), to, reason, error, is_told);
      }
      break;
    default:
      break;  // notices and signals to a process that has ended
  }
}

}  // namespace ergon::node
