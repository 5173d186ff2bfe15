#include <ergon/node/process/receiving.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <ergon/core/clock.h>
#include <ergon/core/time/deadline.h>
#include <ergon/core/turns/worker.h>
#include <ergon/node/population/fork_guard.h>
#include <ergon/node/process/wait_errors.h>
#include <ergon/node/relations/exit_signals.h>
#include <ergon/node/slots/unique_id.h>

namespace ergon::node {
namespace {

// To the process itself.
struct TimeIsUp {
  std::uint64_t id;
};

}  // namespace

PassedOver& Receiving::Of(ProcessRunner& process) {
  ProcessCold& cold = process.Cold();
  if (cold.passed_over == nullptr) {
    cold.passed_over = std::make_unique<PassedOver>();
    cold.passed_over->bound = process.mailbox_.capacity();
  }
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
  const core::Clock& clock = process_.rooms_.clock;
  const bool has_end = timeout != gen::kInfinite;
  const std::int64_t deadline = has_end ? core::DeadlineAfter(clock.Now(), timeout) : 0;

  LookAtPassedOver(receiver);
  while (!receiver.HasTaken()) {
    if (process_.MustEnd()) return EndingError();
    core::Envelope* const envelope = process_.TakeNext(!passed_over_.IsFull());
    if (envelope != nullptr) {
      if (IsReceivable(*envelope) && !receiver.Wants(*envelope)) {
        PassOver(*envelope);
      } else {
        Handle(*envelope);
      }
      if (GaveWay() && has_end && clock.Now() > deadline) is_late_ = true;
      continue;
    }
    if (is_late_ || timeout == std::chrono::nanoseconds::zero()) return gen::ErrTimeout;
    if (process_.rooms_.fork_guard.IsForked()) [[unlikely]]
      return process_.rooms_.fork_guard.Error();
    if (has_end && id_ == 0) {
      id_ = NextUniqueId();
      end.timer = process_.Host().SendSelfAfter(
          TimeIsUp{id_},
          std::chrono::nanoseconds(std::max<std::int64_t>(0, deadline - clock.Now())));
    }
    if (!AwaitArrival()) return NoStackError();
  }
  return {};
}

void Receiving::LookAtPassedOver(gen::Receiver& receiver) {
  auto& envelopes = passed_over_.envelopes;
  for (std::size_t i = 0; i < envelopes.size() && !receiver.HasTaken() && !process_.MustEnd();) {
    const core::Envelope& next = *envelopes[i];
    // While it is suspended its messages wait, wherever.
    const bool may = process_.TakesMain() || !IsMessage(next);
    // Or a signal that it does not trap any more.
    if (!may || (IsReceivable(next) && !receiver.Wants(next))) {
      ++i;
      continue;
    }
    core::Envelope* const envelope = envelopes[i].release();
    envelopes.erase(envelopes.begin() + static_cast<std::ptrdiff_t>(i));
    if (IsMessage(*envelope)) {
      process_.Hold(-1);
      --passed_over_.messages;
      BoundMailbox();
    }
    Handle(*envelope);
  }
}

void Receiving::Handle(core::Envelope& envelope) {
  if (const auto* time_is_up = envelope.ValueAs<TimeIsUp>()) is_late_ = time_is_up->id == id_;
  process_.HandleEnvelope(envelope);
  if (process_.current_ == nullptr || process_.current_failed_) return;
  // Killed meanwhile. The function has the request all the same: its caller is told at the end.
  if (process_.IsOpenQuestion()) process_.NoteOpenRequest(*process_.current_);
  process_.mailbox_.Release(std::exchange(process_.current_, nullptr));
}

bool Receiving::IsReceivable(const core::Envelope& envelope) const {
  if (envelope.generation != process_.generation_.load(std::memory_order_relaxed)) return false;
  if (!gen::Receiver::MayWant(envelope)) return false;
  return KindOf(envelope) != gen::EnvelopeKind::kExit ||
         (process_.end_requests_.TrapsExits() &&
          !process_.rooms_.exit_signals.IsStop(process_, envelope));
}

void Receiving::PassOver(core::Envelope& envelope) {
  process_.mailbox_.Detach(&envelope);
  passed_over_.envelopes.emplace_back(&envelope);
  if (!IsMessage(envelope)) return;
  if (IsExpressMessage(envelope)) process_.NoteExpressGone();
  envelope.lane = core::Lane::kMain;
  process_.Hold(1);
  ++passed_over_.messages;
  BoundMailbox();
}

void Receiving::BoundMailbox() {
  if (passed_over_.bound == 0) return;
  // 0 would be no bound, so one more may wait there.
  const std::uint32_t left =
      passed_over_.bound - std::min(passed_over_.bound, passed_over_.messages);
  process_.mailbox_.SetCapacity(std::max<std::uint32_t>(1, left));
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

void Receiving::ParkHook(void* context, core::Fiber& fiber) {
  auto* process = static_cast<ProcessRunner*>(context);
  process->parked_ = &fiber;
  process->yielded_ = true;  // whatever makes it run goes on with the function
  // Idle from here on: who sends something schedules it, and it may run before this returns.
  const bool takes_main = process->TakesMain() && !Of(*process).IsFull();
  if (!process->mailbox_.TryIdle(takes_main)) process->dispatcher_->Schedule(*process);
}

bool Receiving::AwaitArrival() {
  passed_over_.stretch.messages = 0;
  process_.activity_.SetState(gen::ProcessState::kIdle);
  const bool parked = core::Worker::Park(&ParkHook, &process_);
  SetCurrentProcess(&process_);
  process_.activity_.SetState(gen::ProcessState::kRunning);
  process_.has_waited_ = true;
  process_.pace_.NoteWait();
  return parked;
}

void Receiving::Close(ProcessRunner& process, std::vector<core::EnvelopePtr>& waiting) {
  ProcessCold* const cold = process.ColdIfAny();
  if (cold == nullptr || cold->passed_over == nullptr) return;
  const auto passed_over = std::move(cold->passed_over);
  for (core::EnvelopePtr& envelope : passed_over->envelopes) {
    if (!IsMessage(*envelope)) continue;
    process.Hold(-1);
    waiting.push_back(std::move(envelope));
  }
}

}  // namespace ergon::node
