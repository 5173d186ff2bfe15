// How an envelope reaches a mailbox, or its sender is told, or it is counted.
#include <mutex>

#include <fmt/core.h>

#include <ergon/core/timer_queue.h>
#include <ergon/gen/notices.h>
#include <ergon/node/deadline.h>
#include <ergon/node/relations.h>
#include <ergon/node/runtime.h>
#include <ergon/node/unique_id.h>

namespace ergon::node {
namespace {

std::uint32_t GenerationOf(gen::PID pid) { return static_cast<std::uint32_t>(pid.id >> 32); }

bool IsKind(const core::Envelope& envelope, gen::EnvelopeKind kind) {
  return static_cast<gen::EnvelopeKind>(envelope.kind) == kind;
}

// A message on its way through time. Holds itself until it was sent or cancelled.
class DelayedSend final : public gen::TimerHandle::State {
 public:
  DelayedSend(Runtime& runtime, gen::Target to, core::EnvelopePtr envelope)
      : runtime_(runtime), to_(to), envelope_(std::move(envelope)) {}

  static std::shared_ptr<DelayedSend> Start(Runtime& runtime, const gen::Target& to,
                                            core::EnvelopePtr envelope, std::int64_t deadline) {
    auto send = std::make_shared<DelayedSend>(runtime, to, std::move(envelope));
    send->self_ = send;
    send->timer_.fire = &DelayedSend::Fire;
    send->timer_.context = send.get();
    runtime.timers().Arm(send->timer_, deadline);
    return send;
  }

  bool Cancel() override {
    if (finished_.exchange(true)) return false;
    // It will not be sent. If the timer fires just now, Fire lets go of this, otherwise nobody
    // else.
    const core::EnvelopePtr dropped = std::move(envelope_);
    if (runtime_.timers().Disarm(timer_)) self_.reset();
    return true;
  }

 private:
  static void Fire(void* context, std::uint64_t) {
    const auto send = std::move(static_cast<DelayedSend*>(context)->self_);
    if (send->finished_.exchange(true)) return;
    Runtime& runtime = send->runtime_;
    // From here on it counts, whatever becomes of it: its sender will hear no more of it.
    if (gen::IsUserMessage(static_cast<gen::EnvelopeKind>(send->envelope_->kind))) {
      runtime.CountAccepted();
    }
    if (runtime.IsStopped()) {
      runtime.DropEnvelope(std::move(send->envelope_), gen::DropReason::kTerminated,
                           gen::ErrNodeTerminated);
      return;
    }
    auto pid = runtime.Resolve(send->to_);
    auto sent = pid ? runtime.Deliver(*pid, send->envelope_) : gen::Result<void>(pid.error());
    if (!sent) {
      const bool full = sent.error() == gen::ErrProcessMailboxFull;
      runtime.DropEnvelope(std::move(send->envelope_),
                           full ? gen::DropReason::kMailboxFull : gen::DropReason::kTerminated,
                           sent.error());
    }
  }

  Runtime& runtime_;
  const gen::Target to_;
  core::EnvelopePtr envelope_;
  core::Timer timer_;
  std::atomic<bool> finished_{false};  // whoever sets it decides: sent or cancelled
  std::shared_ptr<DelayedSend> self_;
};

}  // namespace

Process* Runtime::Find(gen::PID pid) const {
  Process* process = table_.Find(pid.id);
  if (process == nullptr || pid.node != name_ || pid.creation != creation_) return nullptr;
  return process->generation_.load(std::memory_order_acquire) == GenerationOf(pid) ? process
                                                                                   : nullptr;
}

gen::Result<void> Runtime::Reach(gen::PID to) const {
  if (to.node != name_) {
    if (!to) return gen::Error(gen::ErrorCode::kProcessUnknown, "the empty PID");
    return gen::Error(gen::ErrorCode::kNoConnection, to.node.ToString());
  }
  if (to.creation != creation_) return gen::ErrProcessIncarnation;
  const Process* process = table_.Find(to.id);
  const bool existed = process != nullptr && to.id >> 32 != 0 &&
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
  core::EnvelopePtr dropped;
  switch (lane.Push(GenerationOf(to), only_if_room, envelope, dropped, process.mailbox_)) {
    case QueueLane::Outcome::kClosed:
      return gen::ErrProcessTerminated;
    case QueueLane::Outcome::kFull:
      return MailboxFull(process, to, envelope);
    case QueueLane::Outcome::kQueued:
      break;
  }
  if (process.mailbox_.WakeIfIdle()) Dispatch(process);
  if (dropped != nullptr) DropOverflow(process, std::move(dropped));
  return {};
}

void Runtime::DropOverflow(Process& process, core::EnvelopePtr envelope) {
  process.CountOverflow(*envelope);
  DropEnvelope(std::move(envelope), gen::DropReason::kMailboxFull, gen::ErrProcessMailboxFull);
}

gen::Result<void> Runtime::Route(Process& pool, gen::PID to, core::EnvelopePtr& envelope) {
  QueueLane* lane = pool.queue_lane_.load(std::memory_order_acquire);  // partner: OpenMailbox
  if (lane != nullptr && lane->IsOf(GenerationOf(to))) return Enqueue(pool, *lane, to, envelope);
  PoolSlot* slot = pool.pool_.load(std::memory_order_acquire);  // partner: Process::GetPoolSlot
  if (slot == nullptr) return gen::ErrProcessTerminated;
  if (slot->refuses.load(std::memory_order_acquire)) return gen::ErrProcessTerminated;
  core::Rotation& rotation = slot->rotation;
  bool found_gone = false;
  bool found_self = false;
  const std::uint32_t tries = rotation.size();
  for (std::uint32_t i = 0; i < tries; ++i) {
    const std::uint64_t worker = rotation.Next();
    // The slot may have a new process by now, and the rotation may be a new pool's.
    if (pool.generation_.load(std::memory_order_acquire) != GenerationOf(to)) {
      rotation.Skipped();
      return gen::ErrProcessTerminated;
    }
    // Acquire, after the look at the rotation; partner: Process::SetRotationOpen.
    if (worker == 0 || !slot->open.load(std::memory_order_acquire)) {
      rotation.Skipped();
      found_gone = true;
      break;
    }
    if (worker == envelope->from.id && IsKind(*envelope, gen::EnvelopeKind::kRequest)) {
      rotation.Skipped();  // a worker that calls its own pool must not wait for itself
      found_self = true;
      continue;
    }
    Process::MarkRouted(*envelope, to.id);
    auto sent = Deliver({worker, name_, creation_}, envelope);
    if (sent) return sent;
    rotation.Skipped();
    if (sent.error() != gen::ErrProcessMailboxFull) found_gone = true;
  }
  if (tries != 0 && !found_gone && !found_self && AllFull(pool, *slot, to, envelope)) return {};
  Process::UnmarkRouted(*envelope);
  if (found_self && tries == 1) {
    return gen::Error(gen::ErrorCode::kNotAllowed,
                      "the pool's only worker calls its own pool: it would wait for itself");
  }
  if (tries != 0 && !found_gone) return RefusedByAll(pool, to);
  // Workers are being replaced: the pool keeps the message until there is one.
  envelope->generation = GenerationOf(to);
  return Accept(pool, to, pool.mailbox_.PushAndAccept(envelope.get()), envelope);
}

bool Runtime::AllFull(Process& pool, PoolSlot& slot, gen::PID to, core::EnvelopePtr& envelope) {
  if (slot.makes_room.load(std::memory_order_relaxed)) {
    const std::uint64_t worker = slot.rotation.Next();
    Process::MarkRouted(*envelope, to.id);
    if (DeliverMakingRoom({worker, name_, creation_}, envelope)) return true;
    slot.rotation.Skipped();
  }
  Process::UnmarkRouted(*envelope);
  return ToFallback(pool, to, envelope);
}

gen::Result<void> Runtime::DeliverMakingRoom(gen::PID worker, core::EnvelopePtr& envelope) {
  envelope->flags |= core::Envelope::kFlagMakeRoom;
  auto sent = Deliver(worker, envelope);
  if (!sent) envelope->flags &= static_cast<std::uint8_t>(~core::Envelope::kFlagMakeRoom);
  return sent;
}

gen::Result<void> Runtime::RefusedByAll(Process& pool, gen::PID to) {
  PoolSlot& slot = *pool.pool_.load(std::memory_order_acquire);
  slot.rotation.Refused();
  std::int64_t last = slot.last_refusal_log.load(std::memory_order_relaxed);
  const std::int64_t now = clock_->CoarseNow();
  constexpr std::int64_t kSecond = 1'000'000'000;
  if ((last == 0 || now - last >= kSecond) &&
      slot.last_refusal_log.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
    Log().Warning("pool {}: all workers' mailboxes are full, senders get errors", to);
  }
  return gen::ErrProcessMailboxFull;
}

gen::Result<void> Runtime::MailboxFull(Process& process, gen::PID to, core::EnvelopePtr& envelope) {
  // A pool that keeps messages until a worker has been replaced.
  PoolSlot* slot = process.pool_.load(std::memory_order_acquire);
  if (slot != nullptr && slot->rotation.size() != 0) return RefusedByAll(process, to);
  if (ToFallback(process, to, envelope)) return {};
  if ((envelope->flags & core::Envelope::kFlagRouted) != 0 &&
      (envelope->flags & core::Envelope::kFlagMakeRoom) == 0) {
    return gen::ErrProcessMailboxFull;  // the pool tries the next worker
  }
  // A request's sender learns of it by this error, just as if it were answered.
  if (!IsKind(*envelope, gen::EnvelopeKind::kRequest) &&
      OverflowOf(process, to) == gen::Overflow::kDropNewest) {
    DropOverflow(process, std::move(envelope));
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
      envelope->type == core::TypeOf<gen::MessageFallback>()) {
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
  auto wrapped = core::MakeEnvelope<gen::MessageFallback>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage), core::Lane::kMain,
      gen::MessageFallback{to, std::move(fallback.tag), gen::OwnedMessage(std::move(envelope))});
  wrapped->from = from;
  if (Deliver(target, wrapped)) return true;
  envelope = wrapped->ValueAs<gen::MessageFallback>()->message.Release();  // the caller's again
  return false;
}

gen::Result<void> Runtime::Respond(gen::PID from, std::uint64_t ref, core::EnvelopePtr response) {
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
  (void)Respond(from, ref,
                core::MakeEnvelope<gen::Error>(static_cast<std::uint8_t>(gen::EnvelopeKind::kError),
                                               core::Lane::kMain, error));
}

bool Runtime::IsAwaited(gen::PID from, gen::Ref ref) const {
  if (from.id == kNodeId) return pending_calls_.IsAwaited(ref.id);
  const Process* process = table_.Find(from.id);
  if (process == nullptr) return false;
  return IsRequestId(ref.id) ? process->AwaitsResponse(ref.id)
                             : process->await_.WaitingFor() == ref.id;
}

void Runtime::DropEnvelope(core::EnvelopePtr envelope, gen::DropReason reason,
                           const gen::Error& error) {
  switch (static_cast<gen::EnvelopeKind>(envelope->kind)) {
    case gen::EnvelopeKind::kInspect:
    case gen::EnvelopeKind::kSuspend:
    case gen::EnvelopeKind::kResume:
      RespondError(gen::PID::FromAddress(envelope->from), envelope->ref, error);
      break;
    case gen::EnvelopeKind::kRequest:
      CountDrop(reason);  // first: who has got the answer finds it counted
      RespondError(gen::PID::FromAddress(envelope->from), envelope->ref, error);
      break;
    case gen::EnvelopeKind::kMessage:
    case gen::EnvelopeKind::kEvent:
      CountDrop(reason);
      break;
    case gen::EnvelopeKind::kInheritance:
      for (auto& left : envelope->ValueAs<gen::MessageInheritance>()->messages) {
        DropEnvelope(std::move(left), reason, error);
      }
      break;
    default:
      break;  // notices and signals to a process that has ended
  }
}

void Runtime::SendExitSignal(gen::PID to, gen::PID from, const gen::Reason& reason,
                             std::uint64_t ref) {
  auto envelope = core::MakeEnvelope<gen::MessageExitPID>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kExit), core::Lane::kUrgent,
      gen::MessageExitPID{from, reason});
  envelope->from = from.ToAddress();
  envelope->ref = ref;
  Process* process = Find(to);
  if (process == nullptr) return;
  const bool ends = process->IsStopSignal(*envelope);
  if (!Deliver(to, envelope)) return;
  Interrupt(*process, to, ends);
}

void Runtime::Interrupt(Process& process, gen::PID pid, bool ends) {
  // A process that is suspended in a call has to look at the signal. Partner:
  // Process::SettleParked, which says "parked" and then looks at the express stack, while here that
  // was pushed to first.
  if (process.await_.Unpark()) Dispatch(process);
  if (!ends) return;
  const std::uint64_t child = process.starting_child_.load(std::memory_order_seq_cst);
  // It is this process's child only if the slot has not changed hands until after that look.
  if (child != 0 && Find(pid) != nullptr) (void)Kill({child, name_, creation_});
}

gen::Result<void> Runtime::SendExitFrom(gen::PID from, const gen::Target& to,
                                        const gen::Reason& reason) {
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  if (Find(*pid) == nullptr) return Reach(*pid);
  if (reason.kind() == gen::ReasonKind::kKill) return Kill(*pid);
  SendExitSignal(*pid, from, reason, gen::kExplicitExit);
  return {};
}

gen::Result<void> Runtime::Kill(gen::PID pid) {
  Process* process = Find(pid);
  if (process == nullptr) return Reach(pid);
  auto envelope =
      core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kKill), core::Lane::kUrgent);
  envelope->from = Self().ToAddress();
  auto sent = Deliver(pid, envelope);
  if (!sent) return sent;
  // The slot may have changed hands meanwhile: the flag says whose it is. A flag that overwrites a
  // later process's leaves that one its signal.
  process->killed_.store(GenerationOf(pid), std::memory_order_relaxed);
  Interrupt(*process, pid, true);
  return {};
}

gen::Result<void> Runtime::StopAfterQueue(gen::PID pid, const gen::Reason& reason) {
  Process* process = Find(pid);
  if (process == nullptr) return Reach(pid);
  auto asked = PushStop(*process, pid, reason);
  if (asked && process->suspended_.load(std::memory_order_relaxed)) {
    // Nobody may be left to resume it.
    auto resume = core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResume),
                                   core::Lane::kUrgent);
    resume->from = Self().ToAddress();
    (void)Deliver(pid, resume);
  }
  return asked;
}

gen::Result<void> Runtime::PushStop(Process& process, gen::PID pid, const gen::Reason& reason) {
  auto envelope = core::MakeEnvelope<gen::Reason>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kStopAfterThis), core::Lane::kMain, reason);
  envelope->from = Self().ToAddress();
  envelope->generation = GenerationOf(pid);
  core::PushOutcome outcome = process.mailbox_.PushBeyondBound(envelope.get());
  if (outcome == core::PushOutcome::kRedirected) {
    QueueLane* lane = process.queue_lane_.load(std::memory_order_acquire);
    if (lane != nullptr && lane->IsOf(GenerationOf(pid))) {
      if (lane->Stop(GenerationOf(pid), envelope, process.mailbox_) !=
          QueueLane::Outcome::kQueued) {
        return gen::ErrProcessTerminated;
      }
      if (process.mailbox_.WakeIfIdle()) Dispatch(process);
      return {};
    }
    // A pool has nothing in its own Main lane: the signal need not queue behind anything.
    envelope->lane = core::Lane::kUrgent;
    outcome = process.mailbox_.Push(envelope.get());
  }
  return Accept(process, pid, outcome, envelope);
}

gen::Result<gen::TimerHandle> Runtime::SendAfterFrom(const gen::Target& to,
                                                     core::EnvelopePtr envelope,
                                                     std::chrono::nanoseconds delay) {
  if (delay < std::chrono::nanoseconds::zero()) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("delay: {} ns, must not be negative", delay.count()));
  }
  if (IsStopped()) return gen::ErrNodeTerminated;
  const gen::TimerHandle handle(
      DelayedSend::Start(*this, to, std::move(envelope), DeadlineAfter(clock_->Now(), delay)));
  // Armed after the last firing (Runtime::TearDown) it would never go. The timer queue's locks
  // order the two: a timer that the last firing has not seen sees the flag.
  if (IsStopped() && handle.Cancel()) return gen::ErrNodeTerminated;
  return handle;
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

gen::Result<gen::TimerHandle> Runtime::SendEnvelopeAfter(const gen::Target& to,
                                                         core::EnvelopePtr envelope,
                                                         std::chrono::nanoseconds delay) {
  envelope->from = Self().ToAddress();
  return SendAfterFrom(to, std::move(envelope), delay);
}

gen::Result<void> Runtime::SendExit(const gen::Target& to, gen::Reason reason) {
  return SendExitFrom(Self(), to, reason);
}

}  // namespace ergon::node
