// Suspending a process: Call, Sleep, Yield, AwaitEnd.
#include <mutex>

#include <fmt/core.h>

#include <ergon/core/time/timer_queue.h>
#include <ergon/core/turns/worker.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process/unique_id.h>
#include <ergon/node/relations/relations.h>
#include <ergon/node/time/deadline.h>

namespace ergon::node {
namespace {

gen::Error EndingError() {
  return gen::Error(gen::ErrorCode::kProcessTerminated, "this process is being ended");
}

}  // namespace

void Process::ParkHook(void* context, core::Fiber& fiber) {
  auto* process = static_cast<Process*>(context);
  process->parked_ = &fiber;
  if (process->SettleParked()) process->dispatcher_->Schedule(*process);
}

bool Process::IsInterrupted() {
  if (IsKilled()) return true;
  bool interrupted = false;
  mailbox_.VisitUrgent([&](const core::Envelope& envelope) {
    interrupted =
        interrupted || (envelope.generation == generation_.load(std::memory_order_relaxed) &&
                        EndsWaits(envelope) && !Relations::IsStale(*this, envelope));
  });
  return interrupted;
}

bool Process::SettleParked() {
  for (;;) {
    if (await_.HasOutcome()) return true;
    if (interruption_ == Interruption::kNothing) {
      if (await_.TryPark()) return false;
      continue;
    }
    const bool heeds_stops = interruption_ == Interruption::kSignalsStops;
    if (IsInterrupted() || (heeds_stops && IsAskedToStop())) {
      (void)await_.Interrupt();  // or an outcome has come meanwhile; either ends the wait
      return true;
    }
    if (!await_.TryPark()) continue;
    // From here on others may resume the process, unless the right to run can be taken back.
    // Partners of these two looks: Runtime::Deliver, which pushes to the express stack and then calls
    // Unpark, and Runtime::StopAfterQueue, which says "stopping" and does the same.
    if (!mailbox_.HasExpress() && !(heeds_stops && IsAskedToStop())) return false;
    if (!await_.Unpark()) return false;
  }
}

// Runs on the timer thread. The slot outlives every timer, and the id is unique, so a late one
// finds nobody waiting.
void Process::ExpireWait(void* context, std::uint64_t id) {
  auto* process = static_cast<Process*>(context);
  if (process->await_.Expire(id) == core::CompleteOutcome::kMustSchedule) {
    process->dispatcher_->Schedule(*process);
  }
}

// Runs on the timer thread.
void Process::ExpireInit(void* context, std::uint64_t id) {
  Runtime& runtime = *static_cast<Process*>(context)->runtime_;
  (void)runtime.Kill({id, runtime.Name(), runtime.creation()});
}

gen::Result<core::AwaitOutcome> Process::WaitInInit(std::uint64_t id, std::int64_t deadline,
                                                    core::Envelope*& response) {
  // Its Init may run inside of that of its parent, on the same fiber. The one whose time is up first is
  // killed, and takes those inside along.
  Process* first = nullptr;
  std::int64_t end = core::kNever;
  for (Process* process = this; process != nullptr && !process->started_;) {
    const std::int64_t its_end = DeadlineAfter(process->started_at_, process->InitTimeout());
    if (its_end < end) {
      first = process;
      end = its_end;
    }
    Process* parent = runtime_->Find(process->Parent());
    const bool is_inside =
        parent != nullptr &&
        parent->starting_child_.load(std::memory_order_relaxed) == process->Self().id;
    process = is_inside ? parent : nullptr;
  }
  if (first == nullptr) return WaitOnce(id, deadline, response);
  core::Timer timer(&ExpireInit, first, first->Self().id);
  runtime_->timers().Arm(timer, end);
  auto outcome = WaitOnce(id, deadline, response);
  // It has fired: the kill is there, or on its way.
  if (!runtime_->timers().Disarm(timer)) first->GetInit().late = true;
  return outcome;
}

gen::Result<core::AwaitOutcome> Process::WaitOnce(std::uint64_t id, std::int64_t deadline,
                                                  core::Envelope*& response) {
  if (runtime_->IsForked()) [[unlikely]] {
    (void)await_.TakeOutcome(response);
    return runtime_->WhyNotUsable();  // nobody would go on with it here
  }
  core::Timer timer(&ExpireWait, this, id);
  if (deadline != 0) runtime_->timers().Arm(timer, deadline);
  bool parked = true;
  if (!await_.HasOutcome()) {
    state_.store(static_cast<std::uint8_t>(gen::ProcessState::kWaiting), std::memory_order_relaxed);
    parked = core::Worker::Park(&ParkHook, this);
    SetCurrentProcess(this);
    state_.store(static_cast<std::uint8_t>(gen::ProcessState::kRunning), std::memory_order_relaxed);
    has_waited_ = true;
    pace_.NoteWait();
  }
  if (deadline != 0) (void)runtime_->timers().Disarm(timer);
  const core::AwaitOutcome outcome = await_.TakeOutcome(response);
  if (!parked && outcome == core::AwaitOutcome::kNone) {
    return gen::Error(gen::ErrorCode::kTooManyCalls,
                      "no memory map left for one more stack (see vm.max_map_count)");
  }
  if (outcome == core::AwaitOutcome::kInterrupted) return EndingError();
  return outcome;
}

gen::Result<core::EnvelopePtr> Process::CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                                     std::chrono::nanoseconds timeout) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Call");
  CheckMaySuspend("Call");
  if (to == Self()) {
    return gen::Error(gen::ErrorCode::kDeadlock,
                      fmt::format("{} would wait for itself ({})", to, request->type->Name()));
  }
  if (IsInterrupted()) return EndingError();
  const std::uint64_t id = NextUniqueId();
  const std::int64_t now = Now();
  const std::int64_t deadline = timeout == gen::kInfinite ? 0 : DeadlineAfter(now, timeout);
  request->from = Self().ToAddress();
  request->ref = id;
  request->deadline = deadline;
  CallEdge& edge = GetCallEdge();
  edge.Begin(id, to.id, request->type, now, runtime_->TicketOf(to, *request));
  MarkImportant(*request);
  await_.Begin(id);
  ++sends_;
  const bool is_message = IsMessage(*request);  // or an inspection
  core::Envelope* response = nullptr;
  auto sent = runtime_->Deliver(to, request);
  if (!sent) {
    (void)await_.TakeOutcome(response);
    edge.End();
    return std::move(sent.error());
  }
  if (is_message) counts_.Sent();
  if (!await_.HasOutcome() && edge.Sent(id)) runtime_->BreakDeadlock(*this);
  auto outcome = Wait(id, deadline, response);
  const bool begun = outcome && *outcome == core::AwaitOutcome::kExpiredBegun;
  const bool expired = begun || (outcome && *outcome == core::AwaitOutcome::kExpired);
  CallEdge::View call = expired ? edge.Read() : CallEdge::View();
  call.begun = begun;
  edge.End();
  core::EnvelopePtr answer(response);
  if (!outcome) return std::move(outcome.error());
  if (expired) return runtime_->TimeoutError(call);
  return answer;
}

void Process::YieldHook(void* context, core::Fiber& fiber) {
  auto* process = static_cast<Process*>(context);
  process->parked_ = &fiber;
  process->yielded_ = true;
  core::Worker::RequeueParked(*process);
}

void Process::Yield() {
  MustBeInOwnTurn("Yield");
  CheckMaySuspend("Yield");
  if (runtime_->IsForked()) [[unlikely]]
    return;  // the others are for the node's own process
  sends_ = 0;
  // False: no stack for others. Then they have to wait.
  (void)core::Worker::Park(&YieldHook, this);
  SetCurrentProcess(this);
  pace_.NoteWait();
}

bool Process::Sleep(std::chrono::nanoseconds duration) {
  MustBeInOwnTurn("Sleep");
  CheckMaySuspend("Sleep");
  if (IsInterrupted()) return false;
  if (duration <= std::chrono::nanoseconds::zero()) return true;
  const std::uint64_t id = NextUniqueId();
  await_.Begin(id);
  core::Envelope* response = nullptr;
  auto outcome = Wait(id, DeadlineAfter(Now(), duration), response);
  const core::EnvelopePtr unexpected(response);
  return outcome.has_value();
}

gen::Result<void> Process::AwaitEnd(gen::PID pid, std::chrono::nanoseconds timeout) {
  CheckMaySuspend("AwaitEnd");
  auto checked = CheckNotNegative("timeout", timeout);
  if (!checked) return checked;
  if (IsInterrupted()) return EndingError();
  Process* const other = runtime_->FindSlot(pid);
  if (other == nullptr || !other->IsYetToEnd(pid)) return {};
  const std::uint64_t id = NextUniqueId();
  await_.Begin(id);
  core::Envelope* response = nullptr;
  ProcessCold& cold = other->Cold();
  {
    std::lock_guard lock(cold.lock);
    if (!other->IsYetToEnd(pid)) {
      (void)await_.TakeOutcome(response);
      return {};
    }
    cold.waiting_processes.push_back({Self(), id});
  }
  auto outcome = Wait(id, timeout == gen::kInfinite ? 0 : DeadlineAfter(Now(), timeout), response);
  const core::EnvelopePtr answer(response);
  if (outcome && *outcome != core::AwaitOutcome::kExpired) return {};
  {
    std::lock_guard lock(cold.lock);
    std::erase_if(cold.waiting_processes, [id](const auto& waiting) { return waiting.id == id; });
  }
  if (!outcome) return std::move(outcome.error());
  return gen::ErrTimeout;
}

}  // namespace ergon::node
