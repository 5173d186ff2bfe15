// A turn: what a process does with its messages.
#include <memory>
#include <type_traits>
#include <utility>

#include <ergon/core/messages/mailbox_turn.h>
#include <ergon/core/turns/worker.h>
#include <ergon/gen/notices.h>
#include <ergon/node/delivery/back_pressure.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/delivery/request_claims.h>
#include <ergon/node/delivery/ticks.h>
#include <ergon/node/delivery/unmade_messages.h>
#include <ergon/node/delivery/withdrawn_requests.h>
#include <ergon/node/process/measuring.h>
#include <ergon/node/process/runner.h>

namespace ergon::node {
namespace {

// Out of line: they are rare, and a turn of one message then does not read the options.
[[gnu::noinline, gnu::cold]] void Watch(TurnBudget& budget, const Rooms& rooms, TurnPace& pace) {
  budget.Watch(rooms.dispatcher.options(), pace);
}
[[gnu::noinline]] bool LookAt(TurnBudget& budget, const Rooms& rooms, TurnPace& pace) {
  return budget.Look(rooms.dispatcher.options(), pace);
}

}  // namespace

core::TurnEnd ProcessRunner::RunTurn() {
  SetCurrentProcess(this);
  if (parked_ != nullptr) return ResumeParked();
  activity_.SetState(gen::ProcessState::kRunning);
  if (must_begin_) [[unlikely]]
    return Begin();
  return RunMessages(core::Worker::CurrentInPlace()->TurnTime());
}

core::TurnEnd ProcessRunner::ResumeParked() {
  if (!yielded_) {
    do {
      if (is_asked_) AnswerInspections();
      if (!await_.HasOutcome() && !SettleParked()) {
        SetCurrentProcess(nullptr);  // it may run elsewhere already
        return core::TurnEnd::kIdle;
      }
    } while (is_asked_);
  }
  yielded_ = false;
  core::Fiber& fiber = *parked_;
  parked_ = nullptr;
  return core::Worker::Resume(fiber);
}

core::TurnEnd ProcessRunner::Begin() {
  if (!started_) {
    gen::Error failure = gen::ErrProcessTerminated;
    if (!RunInit(failure)) return core::TurnEnd::kCompleted;
  }
  if (must_begin_) RunFunction();
  return RunMessages(MachineTime::CoarseNow());  // Init may have waited
}

void ProcessRunner::RunFunction() {
  must_begin_ = false;
  if (MustEnd()) return;
  (void)NoteTime(MachineTime::CoarseNow());
  try {
    if (!behavior_->Receives()) return NoteStatus(gen::Status::Next());
    const gen::Status own = behavior_->ProcessRun();
    if (!EndsByInterruption()) NoteStatus(own);
  } catch (...) {
    NoteThrown();
  }
}

// `now` is the machine's time, which is the node's, too, unless that has a clock of its own. Returns it.
inline std::int64_t ProcessRunner::NoteTime(std::int64_t now) {
  due_ &= static_cast<std::uint8_t>(~kTimeIsDue);
  activity_.NoteTime(rooms_.has_own_clock ? rooms_.clock.CoarseNow() : now);
  return now;
}

void ProcessRunner::BeginTrace(gen::TraceId trace) {
  marks_.SetTrace(trace, *this);
  UseTrace(trace != 0);
  due_ &= static_cast<std::uint8_t>(~kTraceEnds);
  if (trace != 0) due_ |= kTraceEnds;
}

void ProcessRunner::DoWhatIsDue() {
  if ((due_ & kTimeIsDue) != 0) (void)NoteTime(MachineTime::CoarseNow());
  if ((due_ & kTraceEnds) != 0) BeginTrace(0);
  if ((due_ & kMeasures) != 0) Measuring::BeginHandling(*this);
  if ((due_ & kRoomIsWanted) != 0 && !rooms_.back_pressure.Serve(*this)) {
    due_ &= static_cast<std::uint8_t>(~kRoomIsWanted);
  }
}

void ProcessRunner::EndTurn(bool is_done) {
  if ((due_ & kMeasures) != 0) Measuring::EndHandling(*this);
  if ((due_ & kRoomIsWanted) != 0 && !rooms_.back_pressure.Serve(*this)) {
    due_ &= static_cast<std::uint8_t>(~kRoomIsWanted);
  }
  if ((due_ & kPaceIsNoted) != 0) NotePace(is_done || mailbox_.MainDepthApprox() == 0);
}

void ProcessRunner::NotePace(bool goes_idle) {
  // A message counts from when its handler has waited first, or is done: the time before that of the first one in a row
  // is not known, so it is not counted with none.
  const std::uint64_t begun = routed_work_.Handled() + (routed_work_.IsCurrent() ? 1 : 0);
  Cold().counts.work_pace.Look(rooms_.clock, begun, goes_idle);
}

core::TurnEnd ProcessRunner::RunMessages(std::int64_t now) {
  TurnBudget budget(rooms_.dispatcher.throughput(), NoteTime(now));
  if (pace_.IsWatched()) [[unlikely]]
    Watch(budget, rooms_, pace_);
  const auto may_handle_more = [&]() __attribute__((always_inline)) {
    return (budget.Spend() || LookAt(budget, rooms_, pace_)) && sends_ <= kMaxSendsPerTurn;
  };
  sends_ = 0;
  std::uint32_t generation = Generation();
  for (;;) {
    if (end_requests_.IsKilled(generation)) [[unlikely]]
      return FinishInTurn();
    core::Envelope* envelope;
    if (taking_.IsUsual()) [[likely]] {
      envelope = mailbox_.Pop();
    } else if (taking_.IsEnding()) {
      return FinishInTurn();
    } else {
      envelope = NextUnusual();
    }
    bool is_last = false;  // nothing else waits: another look, as in most turns, is not needed
    std::uint64_t count = 0;
    if (envelope != nullptr) {
      const bool is_to_be_released =
          IsPlain(*envelope, generation) ? HandlePlain(*envelope) : HandleEnvelope(*envelope);
      if (is_to_be_released) [[likely]] {
        mailbox_.ReleaseValue(envelope);
        // Receiving may have taken the signal of a kill out of the mailbox: then only end_requests_ knows of the kill.
        is_last = mailbox_.IsLast(envelope, count) && taking_.IsUsual() &&
                  !end_requests_.IsKilled(generation) && !budget.LooksNext();
        if (!is_last) mailbox_.ReleaseMemory(envelope);
      }
      if (!is_last && (may_handle_more() || MustEnd())) continue;
    }
    const bool is_done = is_last || envelope == nullptr;
    if ((due_ & kAfterTurn) != 0) [[unlikely]]
      EndTurn(is_done);
    counts_.Check();
    // The state is for inspection only; it is written before the right to run is given up.
    activity_.SetState(gen::ProcessState::kIdle);
    SetCurrentProcess(nullptr);
    const bool is_idle = is_last ? mailbox_.ReleaseAndTryIdle(envelope, count)
                         : is_done && taking_.IsUsual() ? mailbox_.TryIdleAfterPop()
                                                        : mailbox_.TryIdle(TakesMain());
    if (is_idle) return core::TurnEnd::kIdle;
    // The right to run may have been given up and taken back, and the slot may have a new process
    // since, with a thread of its own, or with a handler that waits: RunTurn knows how to go on with that.
    if (dispatcher_ != &core::Worker::Current()->dispatcher() || parked_ != nullptr) {
      Schedule();
      return core::TurnEnd::kIdle;
    }
    SetCurrentProcess(this);
    if (!is_done || (is_last && !may_handle_more())) return core::TurnEnd::kYielded;
    generation = Generation();
    activity_.SetState(gen::ProcessState::kRunning);
  }
}

core::TurnEnd ProcessRunner::FinishInTurn() {
  Finish(IsKilled() ? gen::Reason::Kill() : transition_ ? transition_->end_reason : gen::Reason());
  SetCurrentProcess(nullptr);
  return core::TurnEnd::kCompleted;
}

// An exception becomes the reason to end, and the result is false.
[[gnu::always_inline]] inline bool ProcessRunner::GiveToBehavior(core::Envelope& envelope) {
  try {
    const gen::Status status = behavior_->ProcessMessage(envelope);
    if (!status.continues()) [[unlikely]]
      NoteStatus(status);
    return true;
  } catch (...) {
    NoteThrown();
    return false;
  }
}

void ProcessRunner::NoteStatus(const gen::Status& status) {
  if (status.has_next()) {
    gen::Status last = status;
    while (last.has_next()) {
      const auto next = std::exchange(Cold().next, nullptr);
      activity_.NoteContinuation();
      (void)NoteTime(MachineTime::CoarseNow());
      last = next && !MustEnd() ? next() : gen::Continue();
    }
    NoteStatus(last);
    return;
  }
  if (!status.stops() || taking_.IsEnding()) return;
  taking_.End();
  if (status.reason().kind() != gen::ReasonKind::kNormal) {
    GetTransition().end_reason = status.reason();
  }
}

// A message that needs nothing but its handler: from the Main lane, of no timer, not late, and not through a pool
// that wants to know more than that it was handled.
inline bool ProcessRunner::IsPlain(const core::Envelope& envelope,
                                   std::uint32_t generation) const noexcept {
  return IsQuietInMain(envelope) && envelope.generation == generation &&
         (!IsRouted(envelope) || routed_work_.duty() == gen::WorkerDuty::kNone);
}

// As HandleEnvelope, of which it is the shortest way. Whether the message came through a pool is asked once.
[[gnu::always_inline]] inline bool ProcessRunner::HandlePlain(core::Envelope& envelope) {
  const auto handle = [&](auto is_routed) __attribute__((always_inline)) {
    counts_.Taken();
    current_ = &envelope;
    activity_.NoteHandling(envelope);
    if ((due_ & kBeforeHandler) != 0) [[unlikely]]
      DoWhatIsDue();
    if constexpr (is_routed) routed_work_.Begin(true);
    answered_ = false;
    const bool is_done = GiveToBehavior(envelope);
    if (current_ == nullptr) [[unlikely]] {  // detached: somebody else's now
      counts_.PassedOn();
      if constexpr (is_routed) routed_work_.End();
      return false;
    }
    counts_.Handled();
    if (!is_done) [[unlikely]]
      return false;  // Finish reports it as not handled
    if constexpr (is_routed) routed_work_.EndHandled();
    current_ = nullptr;
    return true;
  };
  if (IsRouted(envelope)) return handle(std::true_type());
  return handle(std::false_type());
}

// After its handler was called for a message.
inline void ProcessRunner::CountGiven() noexcept {
  if (current_ == nullptr) [[unlikely]] {  // detached: somebody else's now
    counts_.PassedOn();
  } else {
    counts_.Handled();
  }
}

void ProcessRunner::CountExpired() {
  Cold().counts.expired.Add();
  counts_.Expired();
}

bool ProcessRunner::HandleMessage(core::Envelope& envelope) {
  if (IsTick(envelope) && !rooms_.ticks.NoteTaken(envelope)) [[unlikely]] {
    CountExpired();
    rooms_.drops.Note(
        envelope, Self(), gen::DropReason::kExpired,
        gen::Error(gen::ErrorCode::kTimeout, "the timer of this message was cancelled"));
    return false;
  }
  GiveToBehavior(envelope);
  CountGiven();
  return true;
}

bool ProcessRunner::MayBegin(const core::Envelope& request) {
  if (request.deadline == 0) return true;
  // The coarse clock is cheap and never ahead: it tells what has surely expired. The time of the turn would be cheaper,
  // but is older: of a request that a serializer has kept and passes on the claim asks nobody else for the time.
  const std::int64_t now =
      rooms_.has_own_clock ? rooms_.clock.CoarseNow() : MachineTime::CoarseNow();
  if (now > request.deadline) return false;
  const bool is_passed_on = others_begin_ && request.lane == core::Lane::kMain;
  return is_passed_on || rooms_.request_claims.Begin(request);
}

[[gnu::always_inline]] inline bool ProcessRunner::HandleRequest(core::Envelope& envelope) {
  const bool withdrawn = rooms_.withdrawn.TakeNote(envelope.ref);
  if (withdrawn || !MayBegin(envelope)) {
    Expire(envelope, withdrawn);
    return false;
  }
  GiveToBehavior(envelope);
  CountGiven();
  if (current_ != nullptr && !answered_ && !MustEnd()) NoteOpenRequest(envelope);
  return true;
}

// The rest of HandleEnvelope for each kind. False: a message or request that has expired.
[[gnu::always_inline]] inline bool ProcessRunner::HandleByKind(core::Envelope& envelope) {
  if (IsRequest(envelope)) return HandleRequest(envelope);
  switch (KindOf(envelope)) {
    case gen::EnvelopeKind::kMessage:
      return HandleMessage(envelope);
    case gen::EnvelopeKind::kEvent:
      GiveToBehavior(envelope);
      CountGiven();
      return true;
    case gen::EnvelopeKind::kInspect:
      answered_ = !MayBegin(envelope);
      if (!answered_) GiveToBehavior(envelope);
      return true;
    case gen::EnvelopeKind::kExit:
      if (PutInOrder(envelope) || !HandleExit(envelope)) return true;
      break;
    case gen::EnvelopeKind::kInheritance:
      TakeInheritance(envelope);
      break;
    case gen::EnvelopeKind::kDown:
      if (PutInOrder(envelope) || !HandleDown(envelope)) return true;
      break;
    case gen::EnvelopeKind::kKill:
      end_requests_.NoteKilled(envelope.generation);
      return true;
    case gen::EnvelopeKind::kSuspend:
    case gen::EnvelopeKind::kResume:
      SetSuspended(envelope);
      return true;
    case gen::EnvelopeKind::kRoomWanted:
      due_ |= kRoomIsWanted;
      return true;
    case gen::EnvelopeKind::kHandedOver:
      TakeOverRequest(envelope);
      return true;
    case gen::EnvelopeKind::kStopAfterThis:
      if (!PutStopLast(envelope)) AskToStop(*envelope.ValueAs<gen::Reason>());
      return true;
    case gen::EnvelopeKind::kOwnTimer:
      if (envelope.lane == core::Lane::kMain) CountOwnInMain(-1);
      break;
    default:
      break;
  }
  GiveToBehavior(envelope);
  return true;
}

bool ProcessRunner::HandleEnvelope(core::Envelope& envelope) {
  if (IsUnmade(envelope)) {
    MakeInPlace(mailbox_, envelope);
    return false;
  }
  if (IsExpressMessage(envelope)) [[unlikely]] {
    NoteExpressGone();
    if (IsChange(envelope)) {
      HandleChange(envelope);
      return true;
    }
  }
  if (IsMessage(envelope)) counts_.Taken();
  if (envelope.generation != generation_.load(std::memory_order_relaxed)) [[unlikely]] {
    // Pushed by a sender that had looked when the slot's former process was still alive.
    if (IsMessage(envelope)) counts_.Late();
    mailbox_.Detach(&envelope);
    DisposeLate(core::EnvelopePtr(&envelope));
    return false;
  }
  current_ = &envelope;
  activity_.NoteHandling(envelope);
  if ((due_ & kBeforeHandler) != 0) [[unlikely]]
    DoWhatIsDue();
  if (gen::IsTraced(envelope)) [[unlikely]]
    BeginTrace(gen::TraceOf(envelope));
  const bool routed = IsRouted(envelope);
  routed_work_.Begin(routed);
  const auto duty = routed ? routed_work_.duty() : gen::WorkerDuty::kNone;
  const std::int64_t began = duty == gen::WorkerDuty::kMeasure ? rooms_.clock.Now() : 0;
  current_failed_ = false;
  answered_ = false;
  const bool expired = !HandleByKind(envelope);
  if (current_ == nullptr) {  // detached: somebody else's now
    routed_work_.End();
    if (duty != gen::WorkerDuty::kNone) [[unlikely]]
      DoDuty(duty, began);
    return false;
  }
  // Finish answers it, after the exit signals, or reports it as not handled.
  if (MustEnd() && (IsOpenQuestion() || current_failed_)) return false;
  if (routed) {
    // Before the other, which releases it; partner: Delivery::ProgressOf.
    if (expired) Cold().counts.routed_expired.Add();
    routed_work_.EndHandled();
    if (duty != gen::WorkerDuty::kNone) [[unlikely]]
      DoDuty(duty, expired ? 0 : began);
  }
  current_ = nullptr;
  return true;
}

}  // namespace ergon::node
