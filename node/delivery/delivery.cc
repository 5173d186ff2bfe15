// How an envelope reaches a mailbox, or its sender is told, or it is counted.
#include <mutex>
#include <typeinfo>

#include <fmt/core.h>

#include <ergon/gen/notices.h>
#include <ergon/gen/status.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/thrown_text.h>
#include <ergon/node/process/unique_id.h>

namespace ergon::node {
namespace {

bool IsKind(const core::Envelope& envelope, gen::EnvelopeKind kind) {
  return static_cast<gen::EnvelopeKind>(envelope.kind) == kind;
}

// For its sender's ears, whatever the mailbox's policy.
bool IsImportant(const core::Envelope& envelope) {
  return (envelope.flags & core::Envelope::kFlagImportant) != 0;
}

}  // namespace

Process* Runtime::FindSlot(gen::PID pid) const {
  return pid.node == name_ && pid.creation == creation_ ? table_.Find(pid.id) : nullptr;
}

Process* Runtime::Find(gen::PID pid) const {
  Process* process = FindSlot(pid);
  if (process == nullptr) return nullptr;
  return process->generation_.load(std::memory_order_acquire) == GenerationOf(pid) ? process
                                                                                   : nullptr;
}

gen::Result<void> Runtime::Reach(gen::PID to) const {
  if (IsStopped()) return gen::ErrNodeTerminated;
  if (to.node != name_) {
    if (!to) return gen::Error(gen::ErrorCode::kProcessUnknown, "the empty PID");
    return gen::Error(gen::ErrorCode::kNoConnection, to.node.ToString());
  }
  if (to.creation != creation_) return gen::ErrProcessIncarnation;
  const Process* process = table_.Find(to.id);
  const bool existed = process != nullptr && GenerationOf(to) != 0 &&
                       process->generation_.load(std::memory_order_relaxed) > GenerationOf(to);
  return existed ? gen::ErrProcessTerminated : gen::ErrProcessUnknown;
}

void Runtime::Dispatch(Process& process) { process.dispatcher_->Schedule(process); }

gen::Result<void> Runtime::Deliver(gen::PID to, core::EnvelopePtr& envelope) {
  Process* process = table_.Find(to.id);
  if (process == nullptr || to.node != name_ || to.creation != creation_ ||
      process->generation_.load(std::memory_order_acquire) != GenerationOf(to)) [[unlikely]] {
    return Reach(to);
  }
  envelope->generation = GenerationOf(to);
  if (Process::IsExpressMessage(*envelope)) [[unlikely]]
    return DeliverExpress(*process, to, envelope);
  return Accept(*process, to, process->mailbox_.Push(envelope.get()), envelope);
}

gen::Result<void> Runtime::DeliverOrDrop(const gen::Target& to, core::EnvelopePtr envelope) {
  auto pid = Resolve(to);
  auto sent = pid ? Deliver(*pid, envelope) : gen::Result<void>(pid.error());
  if (!sent) {
    const bool full = sent.error() == gen::ErrProcessMailboxFull;
    DropEnvelope(std::move(envelope), pid ? *pid : gen::PID(),
                 full ? gen::DropReason::kMailboxFull : gen::DropReason::kTerminated, sent.error());
  }
  return sent;
}

gen::Result<void> Runtime::DeliverExpress(Process& process, gen::PID to,
                                          core::EnvelopePtr& envelope) {
  // First: its receiver may count it as taken right after the push.
  process.express_queued_.fetch_add(1, std::memory_order_relaxed);
  auto sent = Accept(process, to, process.mailbox_.Push(envelope.get()), envelope);
  if (!sent) process.express_queued_.fetch_sub(1, std::memory_order_relaxed);
  return sent;
}

gen::Result<void> Runtime::Accept(Process& process, gen::PID to, core::PushOutcome outcome,
                                  core::EnvelopePtr& envelope) {
  switch (outcome) {
    case core::PushOutcome::kPushed:
      (void)envelope.release();  // the mailbox's now, and maybe handled and gone already
      return {};
    case core::PushOutcome::kMustSchedule:
      (void)envelope.release();
      Dispatch(process);
      return {};
    case core::PushOutcome::kFull:
      return MailboxFull(process, to, envelope);
    case core::PushOutcome::kRedirected:
      return Route(process, to, envelope);
    case core::PushOutcome::kClosed:
      break;
  }
  return gen::ErrProcessTerminated;
}

gen::Result<void> Runtime::Enqueue(Process& process, QueueLane& lane, gen::PID to,
                                   core::EnvelopePtr& envelope) {
  // A pool tries all workers before one of them has to drop something.
  const bool only_if_room =
      (envelope->flags & (core::Envelope::kFlagRouted | core::Envelope::kFlagMakeRoom)) ==
      core::Envelope::kFlagRouted;
  // Looked at first: the receiver may have ended when it is known what was dropped.
  const gen::PID parent = ParentOf(process, to);
  core::EnvelopePtr dropped;
  QueueLane::Outcome outcome = QueueLane::Outcome::kClosed;
  try {
    outcome = lane.Push(GenerationOf(to), only_if_room, envelope, dropped, process.mailbox_);
  } catch (...) {
    return gen::Error(gen::ErrorCode::kInternal, fmt::format("its mailbox threw {}", ThrownText()));
  }
  switch (outcome) {
    case QueueLane::Outcome::kClosed:
      return gen::ErrProcessTerminated;
    case QueueLane::Outcome::kFull:
      return MailboxFull(process, to, envelope);
    case QueueLane::Outcome::kQueued:
      break;
  }
  if (process.mailbox_.WakeIfIdle()) Dispatch(process);
  if (dropped != nullptr) DropOverflow(process, parent, std::move(dropped));
  return {};
}

gen::PID Runtime::ParentOf(const Process& process, gen::PID pid) const {
  const std::uint64_t parent = process.parent_id_.load(std::memory_order_acquire);
  const bool is_of = process.generation_.load(std::memory_order_relaxed) == GenerationOf(pid);
  return is_of ? PidOf(parent) : gen::PID();
}

void Runtime::CountOverflow(Process& receiver, gen::PID pool, const core::Envelope& envelope) {
  receiver.Cold().counts.overflowed.fetch_add(1, std::memory_order_relaxed);
  if ((envelope.flags & core::Envelope::kFlagRouted) == 0 || !pool) return;
  // Not at the worker, which may have ended: its pool could not learn of it any more.
  const Process* process = Find(pool);
  PoolSlot* slot = process == nullptr ? nullptr : process->pool_.load(std::memory_order_acquire);
  if (slot != nullptr) slot->overflowed.fetch_add(1, std::memory_order_relaxed);
}

void Runtime::DropOverflow(Process& process, gen::PID pool, core::EnvelopePtr envelope) {
  CountOverflow(process, pool, *envelope);
  const gen::PID to = process.ReceiverOf(*envelope);
  DropEnvelope(std::move(envelope), to, gen::DropReason::kMailboxFull, gen::ErrProcessMailboxFull);
}

gen::Result<void> Runtime::MailboxFull(Process& process, gen::PID to, core::EnvelopePtr& envelope) {
  if (ToFallback(process, to, envelope)) return {};
  // A pool that keeps messages until a worker has been replaced, or places them all itself.
  PoolSlot* slot = process.pool_.load(std::memory_order_acquire);
  if (slot != nullptr && slot->rotation.size() != 0) return RefusedByAll(process, to);
  if ((envelope->flags & core::Envelope::kFlagRouted) != 0 &&
      (envelope->flags & core::Envelope::kFlagMakeRoom) == 0) {
    return gen::ErrProcessMailboxFull;  // the pool tries the next worker
  }
  // A request's sender learns of it by this error, just as if it were answered.
  if (!IsKind(*envelope, gen::EnvelopeKind::kRequest) && !IsImportant(*envelope) &&
      OverflowOf(process, to) == gen::Overflow::kDropNewest) {
    const gen::PID parent = ParentOf(process, to);
    if (!parent) return gen::ErrProcessTerminated;  // it has ended since
    DropOverflow(process, parent, std::move(envelope));
    return {};
  }
  return gen::ErrProcessMailboxFull;
}

gen::Overflow Runtime::OverflowOf(Process& process, gen::PID pid) {
  ProcessCold* cold = process.ColdIfAny();
  if (cold == nullptr) return gen::Overflow::kReject;
  std::lock_guard lock(cold->lock);
  const bool is_of = process.generation_.load(std::memory_order_relaxed) == GenerationOf(pid);
  return is_of ? cold->overflow : gen::Overflow::kReject;
}

bool Runtime::ToFallback(Process& process, gen::PID to, core::EnvelopePtr& envelope) {
  ProcessCold* cold = process.ColdIfAny();
  // What was passed on already stays where it is: fallbacks may form a circle.
  if (cold == nullptr || !IsKind(*envelope, gen::EnvelopeKind::kMessage) ||
      IsImportant(*envelope) || envelope->type == core::TypeOf<gen::MessageFallback>()) {
    return false;
  }
  gen::ProcessFallback fallback;
  {
    std::lock_guard lock(cold->lock);
    if (process.generation_.load(std::memory_order_relaxed) == GenerationOf(to)) {
      fallback = cold->fallback;
    }
  }
  const gen::PID target = fallback.name.empty() ? gen::PID() : names_.Find(fallback.name);
  if (!target || target == to) return false;
  const core::Address from = envelope->from;
  const auto stamped = static_cast<std::uint8_t>(envelope->flags & core::Envelope::kFlagStamped);
  const std::int64_t stamp = envelope->deadline;
  auto wrapped = core::MakeEnvelope<gen::MessageFallback>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage), core::Lane::kMain,
      gen::MessageFallback{to, std::move(fallback.tag), gen::OwnedMessage(std::move(envelope))});
  wrapped->from = from;
  wrapped->flags |= stamped;
  wrapped->deadline = stamp;
  if (Deliver(target, wrapped)) return true;
  envelope = wrapped->ValueAs<gen::MessageFallback>()->message.Release();  // the caller's again
  return false;
}

gen::Result<void> Runtime::Respond(gen::PID from, std::uint64_t ref, core::EnvelopePtr response) {
  auto sent = DeliverResponse(from, ref, std::move(response));
  // Its caller may have been told of a deadlock just then, or before: nobody else will take that note.
  if (!sent) (void)withdrawn_.Take(ref);
  return sent;
}

gen::Result<void> Runtime::DeliverResponse(gen::PID from, std::uint64_t ref,
                                           core::EnvelopePtr response) {
  if (from.node != name_) return Reach(from);
  if (from.id == kNodeId) {
    return pending_calls_.Complete(ref, std::move(response)) ? gen::Result<void>()
                                                             : gen::ErrResponseIgnored;
  }
  Process* process = table_.Find(from.id);
  if (process == nullptr) return gen::ErrResponseIgnored;
  if (IsRequestId(ref)) {
    return process->AcceptResponse(ref, std::move(response)) ? gen::Result<void>()
                                                             : gen::ErrResponseIgnored;
  }
  // No look at the generation: the ref is unique, so a later process in the slot never waits for
  // it.
  switch (process->await_.Complete(ref, response.get())) {
    case core::CompleteOutcome::kIgnored:
      return gen::ErrResponseIgnored;
    case core::CompleteOutcome::kStored:
      (void)response.release();
      return {};
    case core::CompleteOutcome::kMustSchedule:
      (void)response.release();
      Dispatch(*process);
      return {};
  }
  return gen::ErrResponseIgnored;
}

void Runtime::RespondError(gen::PID from, std::uint64_t ref, const gen::Error& error) {
  (void)Respond(from, ref, gen::detail::MakeErrorResponse(error));
}

bool Runtime::IsAwaited(gen::PID from, gen::Ref ref) const {
  if (from.id == kNodeId) return pending_calls_.IsAwaited(ref.id);
  const Process* process = table_.Find(from.id);
  if (process == nullptr) return false;
  return IsRequestId(ref.id) ? process->AwaitsResponse(ref.id)
                             : process->await_.WaitingFor() == ref.id;
}

void Runtime::DropEnvelope(core::EnvelopePtr envelope, gen::PID to, gen::DropReason reason,
                           const gen::Error& error) {
  switch (static_cast<gen::EnvelopeKind>(envelope->kind)) {
    case gen::EnvelopeKind::kInspect:
    case gen::EnvelopeKind::kSuspend:
    case gen::EnvelopeKind::kResume:
    case gen::EnvelopeKind::kHandedOver:
      RespondError(gen::PID::FromAddress(envelope->from), envelope->ref, error);
      break;
    case gen::EnvelopeKind::kRequest:
      NoteDrop(*envelope, to, reason, error);  // first: who has got the answer finds it counted
      if (reason == gen::DropReason::kExpired) {
        ExpireWaitFor(*envelope);
      } else {
        RespondError(gen::PID::FromAddress(envelope->from), envelope->ref, error);
      }
      break;
    case gen::EnvelopeKind::kMessage:
      if (Process::IsTick(*envelope)) periodic_sends_.Lost(*envelope);
      NoteDrop(*envelope, to, reason, error);
      break;
    case gen::EnvelopeKind::kEvent:
      NoteDrop(*envelope, to, reason, error);
      break;
    case gen::EnvelopeKind::kInheritance:
      for (auto& left : envelope->ValueAs<gen::MessageInheritance>()->messages) {
        DropEnvelope(std::move(left), to, reason, error);
      }
      break;
    default:
      break;  // notices and signals to a process that has ended
  }
}

void Runtime::NoteDrop(const core::Envelope& envelope, gen::PID to, gen::DropReason reason,
                       const gen::Error& error) {
  dropped_[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  drop_memory_.Note([&] {
    return DropMemory::Drop{.time = clock_->Now(),
                            .to = to,
                            .behavior = BehaviorType(to),
                            .from = gen::PID::FromAddress(envelope.from),
                            .type = envelope.type,
                            .reason = reason,
                            .error = error};
  });
}

const std::type_info* Runtime::BehaviorType(gen::PID pid) const {
  const Process* process = pid ? table_.Find(pid.id) : nullptr;
  if (process == nullptr) return nullptr;
  ProcessCold& cold = process->Cold();
  std::lock_guard lock(cold.lock);
  if (process->IsStill(pid)) {
    // Fixed from spawn to end, and the end of the process waits for the lock above.
    const gen::ProcessBehavior& behavior = *process->behavior_;
    return &typeid(behavior);
  }
  return cold.former_generation == GenerationOf(pid) ? cold.former_behavior : nullptr;
}

// ---- the node as a sender

gen::Result<void> Runtime::SendEnvelope(gen::PID to, core::EnvelopePtr envelope) {
  envelope->from = Self().ToAddress();
  auto sent = Deliver(to, envelope);
  if (sent) CountAccepted();
  return sent;
}

gen::Result<void> Runtime::SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                                core::EnvelopePtr response) {
  response->from = Self().ToAddress();
  return Respond(from, ref.id, std::move(response));
}

}  // namespace ergon::node
