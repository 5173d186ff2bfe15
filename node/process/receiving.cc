#include <ergon/node/process/receiving.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <ergon/core/clock.h>
#include <ergon/core/time/deadline.h>
#include <ergon/core/turns/worker.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/process/wait_errors.h>
#include <ergon/node/process_state/unique_id.h>
#include <ergon/node/spawning/fork_guard.h>

namespace ergon::node {
namespace {

// To the process itself.
struct TimeIsUp {
  std::uint64_t id;
};

}  // namespace

PassedOver& Receiving::Of(ProcessRunner& process) {
  ProcessCold& cold = process.Cold();
  if (cold.passed_over == nullptr) cold.passed_over = std::make_unique<PassedOver>();
  return *cold.passed_over;
}

gen::Result<void> Receiving::Run(gen::Receiver& receiver, std::chrono::nanoseconds timeout) {
  struct End {
    PassedOver& passed_over;
    gen::TimerHandle timer = {};
    ~End() {
      timer.Cancel();
      passed_over.receiver = nullptr;
    }
  } end{passed_over_};
  passed_over_.receiver = &receiver;
  process_.HeedParents();
  const core::Clock& clock = process_.rooms_.clock;
  const bool has_end = timeout != gen::kInfinite;
  const std::int64_t deadline = has_end ? core::DeadlineAfter(clock.Now(), timeout) : 0;

  LookAtPassedOver(receiver);
  if (timeout == std::chrono::nanoseconds::zero()) NoteLate();
  while (!receiver.HasTaken()) {
    if (process_.MustEnd()) return EndingError();
    core::Envelope* const envelope = process_.TakeNext();
    if (envelope == nullptr) {
      // As at the end of a turn, which this function need not reach for long: who waits for room is served. What comes
      // of that is seen in ParkHook, or by the next Receive.
      if ((process_.due_ & kAfterTurn) != 0) process_.EndTurn(true);
      if (is_late_) return gen::ErrTimeout;
      if (process_.rooms_.fork_guard.IsForked()) [[unlikely]]
        return process_.rooms_.fork_guard.Error();
      if (has_end && id_ == 0) {
        id_ = NextUniqueId();
        end.timer = process_.Host().SendSelfAfter(
            TimeIsUp{id_},
            std::chrono::nanoseconds(std::max<std::int64_t>(0, deadline - clock.Now())));
      }
      if (!AwaitArrival()) return NoStackError();
      continue;
    }
    if (IsNotice(*envelope) && process_.PutInOrder(*envelope)) {
      if (is_late_) ++not_late_;  // it was there in time
      continue;
    }
    const bool is_main = envelope->lane == core::Lane::kMain;
    const bool took_main = process_.TakesMain();
    if (IsReceivable(*envelope) && !receiver.Wants(*envelope)) {
      PassOver(*envelope);
    } else {
      Handle(*envelope);
    }
    if (!took_main && process_.TakesMain()) LookAtPassedOver(receiver);  // it was resumed
    if (is_late_ && is_main && not_late_-- == 0) break;
    if (GaveWay() && has_end && clock.Now() > deadline) NoteLate();
  }
  return receiver.HasTaken() ? gen::Result<void>() : gen::ErrTimeout;
}

void Receiving::NoteLate() {
  if (is_late_) return;
  is_late_ = true;
  not_late_ = process_.mailbox_.MainDepthApprox();
  if (process_.taking_.HasQueue()) return;
  not_late_ =
      (not_late_ - passed_over_.messages) & core::DispatchState::kCountMask;  // as the depth
}

void Receiving::LookAtPassedOver(gen::Receiver& receiver) {
  core::Envelope* before = nullptr;
  for (core::Envelope* next = passed_over_.first;
       next != nullptr && !receiver.HasTaken() && !process_.MustEnd();) {
    core::Envelope* const envelope = next;
    next = envelope->next;
    // While it is suspended its messages wait, wherever.
    const bool may = process_.TakesMain() || !IsMessage(*envelope);
    // Or a signal that it does not trap any more.
    if (!may || (IsReceivable(*envelope) && !receiver.Wants(*envelope))) {
      before = envelope;
      continue;
    }
    (before == nullptr ? passed_over_.first : before->next) = next;
    if (next == nullptr) passed_over_.last = before;
    if (IsMessage(*envelope)) Count(-1);
    Handle(*envelope);
    (void)GaveWay();
  }
}

void Receiving::Count(int messages) {
  passed_over_.messages += static_cast<std::uint32_t>(messages);
  if (process_.taking_.HasQueue()) {
    process_.Hold(messages);
  } else if (messages > 0) {
    process_.mailbox_.NoteWaiting();
  } else {
    process_.mailbox_.NoteTaken();
  }
}

void Receiving::Handle(core::Envelope& envelope) {
  const auto* time_is_up = envelope.ValueAs<TimeIsUp>();
  if (time_is_up != nullptr && time_is_up->id == id_) NoteLate();
  if (process_.HandleEnvelope(envelope)) return process_.mailbox_.Release(&envelope);
  if (process_.current_ == nullptr || process_.current_failed_) return;
  // Killed meanwhile. The function has the request all the same: its caller is told at the end.
  if (process_.IsOpenQuestion()) process_.NoteOpenRequest(*process_.current_);
  process_.mailbox_.Release(std::exchange(process_.current_, nullptr));
}

bool Receiving::IsReceivable(core::Envelope& envelope) const {
  if (IsExpressMessage(envelope) && process_.IsChange(envelope)) return false;
  if (envelope.generation != process_.generation_.load(std::memory_order_relaxed)) return false;
  if (!gen::Receiver::MayWant(envelope)) return false;
  return KindOf(envelope) != gen::EnvelopeKind::kExit ||
         (process_.end_requests_.TrapsExits() &&
          !process_.rooms_.exit_signals.IsStop(process_, envelope));
}

void Receiving::PassOver(core::Envelope& envelope) {
  process_.mailbox_.Detach(&envelope);
  envelope.next = nullptr;
  (passed_over_.last == nullptr ? passed_over_.first : passed_over_.last->next) = &envelope;
  passed_over_.last = &envelope;
  if (!IsMessage(envelope)) return;
  if (IsExpressMessage(envelope)) process_.NoteExpressGone();
  envelope.lane = core::Lane::kMain;
  Count(1);
}

bool Receiving::GaveWay() {
  const core::DispatcherOptions& options = process_.rooms_.dispatcher.options();
  const std::int64_t now = MachineTime::CoarseNow();
  auto& stretch = passed_over_.stretch;
  if (stretch.messages == 0) stretch.began = now;
  ++stretch.messages;
  const bool is_long = options.turn_limit_ns != 0 && now - stretch.began >= options.turn_limit_ns;
  if (!is_long && stretch.messages < static_cast<std::uint32_t>(options.throughput)) return false;
  stretch.messages = 0;
  process_.GiveWay();
  return true;
}

void Receiving::ParkHook(void* context, core::Fiber& fiber, core::Fiber& /*to*/) {
  auto* process = static_cast<ProcessRunner*>(context);
  process->parked_ = &fiber;
  process->yielded_ = true;  // whatever makes it run goes on with the function
  // Idle from here on: who sends something schedules it, and it may run before this returns.
  if (!process->mailbox_.TryIdle(process->TakesMain())) process->Schedule();
}

bool Receiving::AwaitArrival() {
  passed_over_.stretch.messages = 0;
  process_.activity_.SetState(gen::ProcessState::kIdle);
  const bool parked = core::Worker::Park(&ParkHook, &process_);
  SetCurrentProcess(&process_);
  process_.activity_.SetState(gen::ProcessState::kRunning);
  process_.due_ |= kTimeIsDue;
  process_.pace_.NoteWait();
  return parked;
}

void Receiving::Close(ProcessRunner& process, std::vector<core::EnvelopePtr>& waiting) {
  ProcessCold* const cold = process.ColdIfAny();
  if (cold == nullptr || cold->passed_over == nullptr) return;
  Receiving all(process);
  for (core::Envelope* next = all.passed_over_.first; next != nullptr;) {
    core::EnvelopePtr envelope(next);
    next = next->next;
    if (!IsMessage(*envelope)) continue;
    all.Count(-1);
    waiting.push_back(std::move(envelope));
  }
  cold->passed_over = nullptr;
}

}  // namespace ergon::node
