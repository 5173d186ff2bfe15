// Suspending a process.
#include <mutex>
#include <optional>
#include <utility>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/core/messages/mailbox_turn.h>
#include <ergon/core/time/deadline.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/core/time/wait_timer.h>
#include <ergon/core/turns/worker.h>
#include <ergon/gen/mutex.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/stale_signals.h>
#include <ergon/node/process/measuring.h>
#include <ergon/node/process/runner.h>
#include <ergon/node/process/wait_errors.h>
#include <ergon/node/spawning/fork_guard.h>

namespace ergon::node {
namespace {

// Both run on the timer thread.
void ExpireWaitOf(void* process, std::uint64_t id) {
  static_cast<ProcessRunner*>(process)->ExpireWait(id);
}
void ExpireInit(void* process, std::uint64_t id) {
  const Rooms& rooms = static_cast<ProcessRunner*>(process)->rooms();
  (void)rooms.exit_signals.Kill(rooms.addresses.PidOf(id));
}

// Returns the process inside of whose turn the Init of this one runs, or null.
ProcessRunner* ParentAround(const ProcessRunner& process) noexcept {
  auto* const parent =
      static_cast<ProcessRunner*>(process.rooms().addresses.Find(process.Parent()));
  return parent != nullptr && parent->starting_child() == process.Id() ? parent : nullptr;
}

// A timer that is not armed any more when it goes out of scope, whatever comes out of the wait.
class InitTimer {
 public:
  // Kills `process` at `deadline`.
  InitTimer(core::TimerQueue& timers, ProcessRunner& process, std::int64_t deadline)
      : timers_(timers), timer_(&ExpireInit, &process, process.Self().id) {
    timers_.Arm(timer_, deadline);
  }
  InitTimer(const InitTimer&) = delete;
  InitTimer& operator=(const InitTimer&) = delete;
  ~InitTimer() { (void)Disarm(); }
  // Returns false if it has fired: the kill is there, or on its way.
  [[nodiscard]] bool Disarm() { return timers_.Disarm(timer_); }

 private:
  core::TimerQueue& timers_;
  core::Timer timer_;
};

}  // namespace

struct ProcessRunner::ParkedWait {
  ProcessRunner* process;
  core::WaitTimer* timer;  // to be armed once it is parked, or null
  std::int64_t deadline;
};

void ProcessRunner::ParkHook(void* context, core::Fiber& fiber, core::Fiber& /*to*/) {
  const ParkedWait wait = *static_cast<const ParkedWait*>(context);  // lives on the parked stack
  ProcessRunner& process = *wait.process;
  process.parked_ = &fiber;
  // The looks of SettleParked, in its order, for nearly all waits: nothing urgent is there.
  const bool is_quiet = process.interruption_ == Interruption::kSignals && !process.is_asked_ &&
                        !process.IsKilled() && !process.mailbox_.MayHaveUrgent();
  const bool is_over =
      is_quiet && process.await_.TryPark()
          ? process.mailbox_.HasExpress() && process.await_.Unpark() && process.SettleParked()
          : process.SettleParked();
  if (is_over) {
    // It waits on when it has answered, without coming by here again.
    if (process.is_asked_ && wait.timer != nullptr) wait.timer->Cover(wait.deadline);
    process.Schedule();
  } else if (wait.timer != nullptr) {
    wait.timer->Cover(wait.deadline);
  }
}

const core::Envelope* ProcessRunner::WaitingEnd() {
  const EndRequests::ExitRule rule = end_requests_.RuleForExits();
  // What ended no wait at the last look ends none now: a stale signal stays stale until a link is made. Who makes a
  // call for each of very many signals would look at all that wait for each.
  constexpr std::uint8_t kFoundNone = 4;  // beside the number of the rule
  const bool only_new = last_look_ == (kFoundNone | rule.Number());
  bool has_question = false;
  const core::Envelope* first = nullptr;
  mailbox_.VisitUrgent(only_new, [&](const core::Envelope& envelope) {
    has_question = has_question || KindOf(envelope) == gen::EnvelopeKind::kInspect;
    if (first == nullptr && envelope.generation == generation_.load(std::memory_order_relaxed) &&
        rooms_.exit_signals.EndsWaits(*this, envelope, rule) && !IsStale(*this, envelope)) {
      first = &envelope;
    }
  });
  is_asked_ = is_asked_ || (started_ && has_question);
  const bool found_none = first == nullptr && !has_question;
  last_look_ = (rule.Number() | (found_none ? kFoundNone : 0)) & 7;
  return first;
}

bool ProcessRunner::MustEndWait(bool heeds_stops) {
  return IsInterrupted() || (heeds_stops && IsAskedToStop());
}

bool ProcessRunner::SettleParked() {
  for (;;) {
    if (await_.HasOutcome()) return true;
    if (interruption_ == Interruption::kNothing) {
      if (await_.TryPark()) return false;
      continue;
    }
    const bool heeds_stops = interruption_ == Interruption::kSignalsStops;
    if (MustEndWait(heeds_stops)) {
      (void)await_.Interrupt();  // or an outcome has come meanwhile; either ends the wait
      return true;
    }
    if (is_asked_) return true;  // its next turn begins with that
    if (!await_.TryPark()) continue;
    // From here on others may resume the process, unless the right to run can be taken back.
    // Partners of these two looks: ExitSignals::Deliver, which pushes to the express stack and then calls
    // Unpark, and ExitSignals::StopAfterQueue, which says "stopping" and does the same.
    if (!mailbox_.HasExpress() && !(heeds_stops && IsAskedToStop())) return false;
    if (!await_.Unpark()) return false;
  }
}

// In a turn of its own, while the handler that waits is parked.
void ProcessRunner::AnswerInspections() {
  is_asked_ = false;
  constexpr auto kInspect = static_cast<std::uint8_t>(gen::EnvelopeKind::kInspect);
  // No second wait: the process has one.
  gen::Mutex no_wait;
  const std::lock_guard lock(no_wait);
  while (core::Envelope* const question = mailbox_.PopExpressOf(kInspect)) {
    if (question->generation != generation_.load(std::memory_order_relaxed)) {
      mailbox_.Detach(question);
      DisposeLate(core::EnvelopePtr(question));
      continue;
    }
    core::Envelope* const handled = std::exchange(current_, question);
    const bool answered = std::exchange(answered_, !MayBegin(*question));
    try {
      if (!answered_) (void)behavior_->ProcessMessage(*question);
    } catch (...) {
      rooms_.delivery.RespondError(
          gen::PID::FromAddress(question->from), question->ref,
          gen::Error(gen::ErrorCode::kApplication,
                     "HandleInspect, while a handler waits, threw: " + core::ThrownText()));
    }
    current_ = handled;
    answered_ = answered;
    mailbox_.Release(question);
  }
}

void ProcessRunner::MakeWaitTimer() {
  Extras().wait_timer =
      std::make_unique<core::WaitTimer>(rooms_.timers, rooms_.clock, await_, &ExpireWaitOf, this);
}

void ProcessRunner::HeedParents() {
  ProcessRunner* process = this;
  while (!process->started_) {
    ProcessRunner* const parent = ParentAround(*process);
    if (parent == nullptr) return;
    // Sequentially consistent, as is the look for signals; partner: ExitSignals::Interrupt. A signal from now on finds
    // the child; one that is there already is found here. So a spawn whose Init does not wait needs neither.
    parent->Extras().starting_child.store(process->Id(), std::memory_order_seq_cst);
    if (!process->IsKilled() && parent->IsInterrupted())
      (void)rooms_.exit_signals.Kill(process->Self());
    process = parent;
  }
}

gen::Result<core::AwaitOutcome> ProcessRunner::WaitUnusually(std::uint64_t id,
                                                             std::int64_t deadline,
                                                             core::Envelope*& response) {
  // Its Init may run inside of that of its parent, on the same fiber. The one whose time is up first is
  // killed, and takes those inside along.
  ProcessRunner* first = nullptr;
  std::int64_t end = core::kNever;
  for (ProcessRunner* process = this; process != nullptr && !process->started_;) {
    const std::int64_t its_end = process->InitDeadline();
    if (its_end < end) {
      first = process;
      end = its_end;
    }
    process = ParentAround(*process);
  }
  HeedParents();
  std::optional<InitTimer> timer;
  if (first != nullptr) timer.emplace(rooms_.timers, *first, end);
  auto outcome = WaitOnce(id, deadline, response);
  if (timer && !timer->Disarm()) first->GetTransition().late = true;
  Measuring::NoteCall(*this, id);
  return outcome;
}

gen::Result<core::AwaitOutcome> ProcessRunner::WaitOnce(std::uint64_t id, std::int64_t deadline,
                                                        core::Envelope*& response) {
  if (rooms_.fork_guard.IsForked()) [[unlikely]] {
    (void)await_.TakeOutcome(response);
    return rooms_.fork_guard.Error();  // nobody would go on with it here
  }
  bool parked = true;
  if (!await_.HasOutcome()) {
    ParkedWait wait{this, nullptr, deadline};
    if (deadline != 0) {
      wait.timer = ExtrasIfAny()->wait_timer.get();  // made by BeginWait
      wait.timer->Note(id, deadline);
    }
    // A clock of the node's own may be one that is moved to the next deadline: none may be there that nobody waits for.
    core::WaitTimer* const exact =
        rooms_.has_own_clock ? std::exchange(wait.timer, nullptr) : nullptr;
    if (exact != nullptr) exact->Cover(deadline);
    // Release; partner: Activity::state. Who moves such a clock when the process waits finds its time-out.
    activity_.SetState(gen::ProcessState::kWaiting, std::memory_order_release);
    parked = core::Worker::Park(&ParkHook, &wait);
    if (exact != nullptr) exact->Withdraw();
    SetCurrentProcess(this);
    activity_.SetState(gen::ProcessState::kRunning);
    due_ |= kTimeIsDue;
    pace_.NoteWait();
    if (heir_) NotePace(false);
  }
  const core::AwaitOutcome outcome = await_.TakeOutcome(response);
  if (!parked && outcome == core::AwaitOutcome::kNone) {
    return NoStackError();
  }
  if (outcome == core::AwaitOutcome::kInterrupted) return EndingError();
  return outcome;
}

void ProcessRunner::GiveWay() {
  if (rooms_.fork_guard.IsForked()) [[unlikely]]
    return;  // the others are for the node's own process
  HeedParents();
  sends_ = 0;
  // False: no stack for others. Then they have to wait.
  (void)ParkReady(&YieldHook);
  pace_.NoteWait();
}

bool ProcessRunner::ParkReady(core::Worker::ParkHook hook) {
  // That it starts or ends is more than that it waits, and others rely on it.
  const bool in_handler = activity_.state() == gen::ProcessState::kRunning;
  if (in_handler) activity_.SetState(gen::ProcessState::kReady);
  const bool parked = core::Worker::Park(hook, this);
  SetCurrentProcess(this);
  if (in_handler) activity_.SetState(gen::ProcessState::kRunning);
  return parked;
}

void ProcessRunner::YieldHook(void* context, core::Fiber& fiber, core::Fiber& /*to*/) {
  auto* process = static_cast<ProcessRunner*>(context);
  process->parked_ = &fiber;
  process->yielded_ = true;
  core::Worker::RequeueParked(*process);
}

}  // namespace ergon::node
