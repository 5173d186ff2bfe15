// A turn: what a process does with its messages.
#include <algorithm>
#include <string>
#include <typeinfo>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/moving_mean.h>
#include <ergon/core/turns/worker.h>
#include <ergon/gen/event.h>
#include <ergon/gen/notices.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process/thrown_text.h>
#include <ergon/node/process/unique_id.h>
#include <ergon/node/relations/relations.h>

namespace ergon::node {
core::TurnEnd Process::RunTurn() {
  SetCurrentProcess(this);
  if (parked_ != nullptr) {
    if (std::exchange(yielded_, false) || SettleParked()) {
      core::Fiber& fiber = *parked_;
      parked_ = nullptr;
      core::Worker::Resume(fiber);
    }
    return core::TurnEnd::kIdle;
  }
  state_.store(static_cast<std::uint8_t>(gen::ProcessState::kRunning), std::memory_order_relaxed);
  gen::Error failure = gen::ErrProcessTerminated;
  if (!started_ && !RunInit(failure)) return core::TurnEnd::kCompleted;
  return RunMessages();
}

std::int64_t Process::NoteTime() {
  has_waited_ = false;
  const std::int64_t now = runtime_->clock().CoarseNow();
  handling_since_.store(Runtime::Milliseconds(now), std::memory_order_relaxed);
  return now;
}

core::TurnEnd Process::RunMessages() {
  TurnBudget budget = runtime_->NewTurnBudget(pace_, NoteTime());
  sends_ = 0;
  for (;;) {
    if (MustEnd()) {
      Finish(IsKilled() ? gen::Reason::Kill() : end_reason_ ? *end_reason_ : gen::Reason());
      SetCurrentProcess(nullptr);
      return core::TurnEnd::kCompleted;
    }
    core::Envelope* envelope = NextEnvelope();
    if (envelope != nullptr) {
      HandleEnvelope(*envelope);
      if ((budget.Spend() && sends_ <= kMaxSendsPerTurn) || MustEnd()) continue;
    }
    counts_.Check();
    // The state is for inspection only; it is written before the right to run is given up.
    state_.store(static_cast<std::uint8_t>(gen::ProcessState::kIdle), std::memory_order_relaxed);
    SetCurrentProcess(nullptr);
    if (mailbox_.TryIdle(TakesMain())) return core::TurnEnd::kIdle;
    // The right to run may have been given up and taken back, and the slot may have a new process
    // since, with a thread of its own.
    if (dispatcher_ != &core::Worker::Current()->dispatcher()) {
      dispatcher_->Schedule(*this);
      return core::TurnEnd::kIdle;
    }
    state_.store(static_cast<std::uint8_t>(gen::ProcessState::kRunning), std::memory_order_relaxed);
    SetCurrentProcess(this);
    if (envelope != nullptr) return core::TurnEnd::kYielded;
  }
}

void Process::HandleEnvelope(core::Envelope& envelope) {
  CountTaken(envelope);
  if (IsMessage(envelope)) counts_.Taken();
  if (envelope.generation != generation_.load(std::memory_order_relaxed)) [[unlikely]] {
    // Pushed by a sender that had looked when the slot's former process was still alive.
    if (IsMessage(envelope)) counts_.Late();
    mailbox_.Detach(&envelope);
    DisposeLate(core::EnvelopePtr(&envelope));
    return;
  }
  current_ = &envelope;
  NoteHandling(envelope);
  const bool routed = (envelope.flags & core::Envelope::kFlagRouted) != 0;
  current_routed_.store(routed, std::memory_order_release);  // partner: Progress
  const auto duty = routed ? duty_.load(std::memory_order_relaxed) : gen::WorkerDuty::kNone;
  const std::int64_t began = duty == gen::WorkerDuty::kMeasure ? Now() : 0;
  current_failed_ = false;
  answered_ = false;
  bool expired = false;
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kMessage:
      expired = !HandleMessage(envelope);
      break;
    case gen::EnvelopeKind::kRequest:
      expired = !HandleRequest(envelope);
      break;
    case gen::EnvelopeKind::kEvent:
      Guarded([&] { NoteStatus(behavior_->ProcessMessage(envelope)); });
      CountGiven();
      break;
    case gen::EnvelopeKind::kInspect:
      answered_ = !MayBegin(envelope);
      if (!answered_) Guarded([&] { NoteStatus(behavior_->ProcessMessage(envelope)); });
      break;
    case gen::EnvelopeKind::kExit:
      HandleExit(envelope);
      break;
    case gen::EnvelopeKind::kInheritance:
      HandleInheritance(envelope);
      break;
    case gen::EnvelopeKind::kDown:
      if (HandleDown(envelope)) {
        Guarded([&] { NoteStatus(behavior_->ProcessMessage(envelope)); });
      }
      break;
    case gen::EnvelopeKind::kKill:
      killed_.store(envelope.generation, std::memory_order_relaxed);
      break;
    case gen::EnvelopeKind::kSuspend:
    case gen::EnvelopeKind::kResume:
      SetSuspended(envelope);
      break;
    case gen::EnvelopeKind::kHandedOver:
      TakeOverRequest(envelope);
      break;
    case gen::EnvelopeKind::kStopAfterThis:
      AskToStop(*envelope.ValueAs<gen::Reason>());
      break;
    case gen::EnvelopeKind::kOwnTimer:
      if (envelope.lane == core::Lane::kMain) CountOwnInMain(-1);
      Guarded([&] { NoteStatus(behavior_->ProcessMessage(envelope)); });
      break;
    default:
      Guarded([&] { NoteStatus(behavior_->ProcessMessage(envelope)); });
      break;
  }
  if (current_ == nullptr) {  // detached: somebody else's now
    current_routed_.store(false, std::memory_order_relaxed);
    if (duty != gen::WorkerDuty::kNone) [[unlikely]]
      DoDuty(duty, began);
    return;
  }
  // Finish answers it, after the exit signals, or reports it as not handled.
  if (MustEnd() && (IsOpenQuestion() || current_failed_)) return;
  if (routed) {
    current_routed_.store(false, std::memory_order_relaxed);
    // Before the other, which releases it; partner: Progress.
    if (expired) Cold().counts.routed_expired.Add();
    routed_handled_.AddAndRelease();
    if (duty != gen::WorkerDuty::kNone) [[unlikely]]
      DoDuty(duty, began);
  }
  current_ = nullptr;
  mailbox_.Release(&envelope);
}

void Process::ReportProgress() {
  core::EnvelopePtr report = core::MakeSignal(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kProgress), core::Lane::kSystem);
  report->from = Self().ToAddress();
  (void)runtime_->Deliver(Parent(), report);  // a parent that is gone need not know
}

void Process::DoDuty(gen::WorkerDuty duty, std::int64_t began) {
  if (duty == gen::WorkerDuty::kReport) {
    ReportProgress();
    return;
  }
  auto& mean_handling = Cold().counts.mean_handling;
  mean_handling.store(
      core::MovingMean(mean_handling.load(std::memory_order_relaxed), Now() - began),
      std::memory_order_relaxed);
}

void Process::HandleInheritance(core::Envelope& envelope) {
  auto& inheritance = *envelope.ValueAs<gen::MessageInheritance>();
  if (inheritance.late) GetPoolSlot().late.fetch_sub(1, std::memory_order_relaxed);
  Hold(std::count_if(inheritance.messages.begin(), inheritance.messages.end(),
                     [](const core::EnvelopePtr& left) { return IsMessage(*left); }));
  Guarded([&] { NoteStatus(behavior_->ProcessMessage(envelope)); });
}

bool Process::HandleMessage(core::Envelope& envelope) {
  if (IsTick(envelope) && !runtime_->periodic_sends().Take(envelope)) [[unlikely]] {
    CountExpired();
    runtime_->NoteDrop(envelope, Self(), gen::DropReason::kExpired,
                       gen::Error(gen::ErrorCode::kTimeout, "its timer was cancelled"));
    return false;
  }
  Guarded([&] { NoteStatus(behavior_->ProcessMessage(envelope)); });
  CountGiven();
  return true;
}

bool Process::MayBegin(const core::Envelope& request) {
  if (request.deadline == 0) return true;
  // The coarse clock is cheap and never ahead: it tells what has surely expired.
  if (runtime_->clock().CoarseNow() > request.deadline) return false;
  const bool is_passed_on = others_begin_ && request.lane == core::Lane::kMain;
  return is_passed_on || runtime_->Begin(request);
}

bool Process::HandleRequest(core::Envelope& envelope) {
  const bool withdrawn = runtime_->TakeWithdrawn(envelope);
  if (withdrawn || !MayBegin(envelope)) {
    CountExpired();
    answered_ = true;
    // First: who is told finds it counted.
    runtime_->NoteDrop(envelope, Self(), gen::DropReason::kExpired,
                       withdrawn ? gen::ErrDeadlock : gen::ErrTimeout);
    runtime_->ExpireWaitFor(envelope);
    return false;
  }
  Guarded([&] { NoteStatus(behavior_->ProcessMessage(envelope)); });
  CountGiven();
  if (current_ != nullptr && !answered_ && !MustEnd()) NoteOpenRequest(envelope);
  return true;
}

void Process::NoteOpenRequest(const core::Envelope& envelope) {
  runtime_->NoteTaken(envelope, CallEdge::Stage::kLeftOpen);
  ProcessCold& cold = Cold();
  const gen::PID from = gen::PID::FromAddress(envelope.from);
  if (cold.open_requests.size() >= cold.open_requests_limit) {
    // Answered by others, or given up by their callers: nobody waits for those any more.
    std::erase_if(cold.open_requests, [&](const auto& open) {
      return !runtime_->IsAwaited(open.second.from, open.first);
    });
    cold.open_requests_limit = 2 * cold.open_requests.size() + ProcessCold::kOpenRequestsLimit;
  }
  cold.open_requests[{envelope.ref, from.node, from.creation}] = {from, ++cold.open_requests_seen};
}

bool Process::IsStopSignal(const core::Envelope& envelope) const {
  return IsStopSignal(envelope, TrapExit());
}

bool Process::EndsWaits(const core::Envelope& envelope) const {
  const bool heeds = heeds_exits_.load(std::memory_order_relaxed);
  const bool is_child =
      envelope.type == core::TypeOf<gen::MessageExitPID>() && envelope.ref == gen::kChildExit;
  return IsStopSignal(envelope, TrapExit() && (!heeds || is_child));
}

bool Process::IsStopSignal(const core::Envelope& envelope, bool traps_exits) const {
  const auto kind = static_cast<gen::EnvelopeKind>(envelope.kind);
  if (kind == gen::EnvelopeKind::kKill) return true;
  if (kind != gen::EnvelopeKind::kExit) return false;
  if (const auto* event = const_cast<core::Envelope&>(envelope).ValueAs<gen::MessageExitEvent>()) {
    return !traps_exits && !event->reason.IsNormal();
  }
  const auto* exit = const_cast<core::Envelope&>(envelope).ValueAs<gen::MessageExitPID>();
  if (exit->pid == Parent()) return true;
  if (traps_exits) return false;
  return envelope.ref == gen::kExplicitExit || !exit->reason.IsNormal();
}

void Process::HandleExit(core::Envelope& envelope) {
  const auto* event = envelope.ValueAs<gen::MessageExitEvent>();
  const auto* exit = envelope.ValueAs<gen::MessageExitPID>();
  const bool from_link = envelope.ref != gen::kExplicitExit;
  // A link's signal counts once, and not after Unlink.
  if (event != nullptr ? !Relations::TakeSubscription(*this, envelope.ref)
                       : from_link && !Relations::TakeLink(*this, exit->pid)) {
    return;
  }
  if (IsStopSignal(envelope)) {
    const gen::Reason reason = event != nullptr ? event->reason : exit->reason;
    AskToStop(reason);
  } else if (TrapExit()) {
    Guarded([&] { NoteStatus(behavior_->ProcessMessage(envelope)); });
  }
}

bool Process::HandleDown(core::Envelope& envelope) {
  if (envelope.type == core::TypeOf<gen::MessageDownEvent>()) {
    return Relations::TakeSubscription(*this, envelope.ref);
  }
  return envelope.ref == 0 || Relations::TakeMonitor(*this, envelope.ref);
}

void Process::AskToStop(const gen::Reason& reason) {
  Guarded([&] { NoteStatus(behavior_->ProcessStop(reason)); });
}

void Process::NoteStatus(const gen::Status& status) {
  if (!status.stops() || ending_) return;
  ending_ = true;
  if (status.reason().kind() != gen::ReasonKind::kNormal) {
    end_reason_ = std::make_unique<const gen::Reason>(status.reason());
  }
}

template <class Function>
void Process::Guarded(Function&& function) {
  try {
    function();
  } catch (...) {
    current_failed_ = true;
    const gen::Reason reason = PanicReason();
    if (!IsKilled()) {
      Log().Error("ends with {}", reason);
    }
    NoteStatus(gen::Stop(reason));
  }
}

gen::Reason Process::PanicReason() const {
  std::string text = ThrownText();
  const core::TypeDescriptor* type = current_type_.load(std::memory_order_relaxed);
  if (type != nullptr) text += fmt::format(" (handling {})", type->Name());
  return gen::Reason::Panic(std::move(text));
}

bool Process::RunInit(gen::Error& failure) {
  gen::Status status;
  const gen::Args args = init_ == nullptr ? gen::Args() : std::move(init_->args);
  try {
    status = behavior_->ProcessInit(*this, args);
  } catch (...) {
    status = gen::Stop(PanicReason());
  }
  if (!status.stops() && !IsInitLate()) started_ = ReportStarted();
  if (started_) return true;
  if (IsInitLate()) [[unlikely]] {  // whatever it has made of that
    const gen::ProcessBehavior& behavior = *behavior_;
    const gen::Error error = Runtime::InitTimeoutError(Self(), typeid(behavior), InitTimeout());
    status = gen::Stop(gen::Reason::Error(std::string(error.detail())));
  }
  failure = InitError(status.reason());
  Finish(status.reason());
  SetCurrentProcess(nullptr);
  return false;
}

bool Process::RunInitInline(gen::Error& failure) {
  Process* const parent = CurrentProcess();
  SetCurrentProcess(this);
  state_.store(static_cast<std::uint8_t>(gen::ProcessState::kRunning), std::memory_order_relaxed);
  const bool ready = RunInit(failure);
  if (ready) {
    // The child's first messages are for its own turns.
    state_.store(static_cast<std::uint8_t>(gen::ProcessState::kIdle), std::memory_order_relaxed);
    if (!mailbox_.TryIdle(TakesMain())) dispatcher_->Schedule(*this);
  }
  SetCurrentProcess(parent);
  return ready;
}

}  // namespace ergon::node
