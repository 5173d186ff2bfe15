#include <ergon/node/lifecycle/runtime.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <typeinfo>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/fatal.h>
#include <ergon/core/turns/stack_overflow.h>
#include <ergon/core/turns/worker.h>
#include <ergon/core/work_sharing.h>
#include <ergon/core/work_stealing.h>
#include <ergon/gen/notices.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process/thrown_text.h>
#include <ergon/node/process/unique_id.h>
#include <ergon/node/relations/relations.h>
#include <ergon/node/time/deadline.h>

namespace ergon::node {
namespace {

// Tells incarnations of a node name apart, also those of different programs.
std::uint32_t MakeCreation() {
  const std::uint32_t creation = std::random_device()();
  return creation < 4 ? creation + 4 : creation;  // 0 to 3 are reserved by the Erlang distribution
}

}  // namespace

gen::Result<std::unique_ptr<Runtime>> Runtime::Start(gen::Atom name,
                                                     const gen::NodeOptions& options) {
  auto checked = CheckOptions(options);
  if (!checked) return std::move(checked.error());
  std::shared_ptr<core::Dispatcher> dispatcher = options.dispatcher;
  if (dispatcher == nullptr) {
    dispatcher = options.policy == gen::DispatcherPolicy::kWorkSharing
                     ? core::MakeWorkSharing(DispatcherOptionsOf(options))
                     : core::MakeWorkStealing(DispatcherOptionsOf(options));
  }
  std::shared_ptr<core::Clock> clock =
      options.clock != nullptr ? options.clock : std::make_shared<core::SteadyClock>();
  core::WatchForks();
  auto runtime =
      std::unique_ptr<Runtime>(new Runtime(name, options, std::move(clock), std::move(dispatcher)));
  gen::SetBlockingRuntime(Process::BlockingCalls());
  core::SetOverflowReport(&Process::ReportOverflow);
  if (options.clock == nullptr && options.watchdog_after.count() != 0) {
    runtime->watchdog_ =
        std::make_unique<Watchdog>(*runtime, *runtime->dispatcher_, options.watchdog_after);
  }
  std::string problem;
  if (!runtime->dispatcher_->Start(&problem)) {
    return gen::Error(gen::ErrorCode::kInternal, problem);
  }
  // What has been started by then ends with the runtime.
  const char* what = "watchdog";
  try {
    if (runtime->watchdog_ != nullptr) runtime->watchdog_->Start();
    what = "thread for timers and signals";
    if (options.clock == nullptr) runtime->io_ = std::make_unique<IoThread>(*runtime->timers_);
  } catch (const std::exception& error) {
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("the node's {} cannot be started: {}", what, error.what()));
  }
  return runtime;
}

Runtime::Runtime(gen::Atom name, gen::NodeOptions options, std::shared_ptr<core::Clock> clock,
                 std::shared_ptr<core::Dispatcher> dispatcher)
    : name_(name),
      creation_(options.creation == 0 ? MakeCreation() : options.creation),
      options_(std::move(options)),
      clock_(std::move(clock)),
      logging_(options_.log_sink),
      timers_(options_.timers != nullptr ? options_.timers
                                         : std::make_shared<core::TimerQueue>(*clock_)),
      pending_calls_(*timers_, [this](const CallEdge::View& call) { return TimeoutError(call); }),
      drop_memory_(options_.drops_remembered),
      environment_(options_.environment),
      table_(*this),
      dispatcher_(std::move(dispatcher)),
      started_at_(clock_->Now()) {}

Runtime::~Runtime() {
  Stop();
  if (stopper_.joinable()) stopper_.join();
}

void Runtime::Write(gen::LogLevel level, std::string_view text) {
  logging_.Write(level, fmt::format("{}: {}", name_, text));
}

asio::io_context& Runtime::Io() {
  if (io_ == nullptr) core::Fatal("Await", "a node with a clock of its own has no I/O");
  return io_->context();
}

std::chrono::system_clock::time_point Runtime::Wall() const {
  using std::chrono::system_clock;
  if (options_.wall_clock) return options_.wall_clock();
  if (options_.clock == nullptr) return system_clock::now();
  return system_clock::time_point(
      std::chrono::duration_cast<system_clock::duration>(std::chrono::nanoseconds(clock_->Now())));
}

// ---- spawning

gen::Result<Process*> Runtime::OpenProcess(const SpawnRequest& request) {
  if (no_more_processes_.load(std::memory_order_acquire)) return gen::ErrNodeTerminated;
  auto checked = CheckProcessOptions(request.options);
  if (!checked) return std::move(checked.error());
  if (!request.factory) return Incorrect("factory: is empty");
  std::unique_ptr<gen::ProcessBehavior> behavior;
  try {
    behavior = request.factory.Make();
  } catch (...) {
    return gen::Error(gen::ErrorCode::kProcessTerminated,
                      gen::Reason::Panic(ThrownText()).ToString());
  }
  if (behavior == nullptr) return Incorrect("factory: returned no behaviour");
  Process* process = table_.Take();
  if (process == nullptr) {
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("more than {} processes", ProcessTable::kMaxProcesses));
  }
  auto opened = process->Open(request, std::move(behavior));
  if (!opened) {
    process->behavior_.reset();
    table_.Give(*process);
    return std::move(opened.error());
  }
  process->sequence_.store(spawned_.fetch_add(1, std::memory_order_seq_cst),
                           std::memory_order_relaxed);
  const gen::PID pid = process->Self();
  gen::Result<void> result;
  if (!request.name.empty()) result = RegisterName(request.name, pid);
  if (result && request.link) {
    Process* parent = Find(request.parent);
    if (parent == nullptr || !Relations::LinkChild(*process, *parent, request.parent)) {
      result = gen::Error(gen::ErrorCode::kProcessTerminated, "the parent is ending");
    }
  }
  // StopForce may have looked at the processes before this one was there. Partner:
  // Runtime::KillAll.
  if (result && no_more_processes_.load(std::memory_order_seq_cst)) result = gen::ErrNodeTerminated;
  if (!result) {
    process->Finish(gen::Reason::Normal());
    return std::move(result.error());
  }
  return process;
}

gen::Result<void> Runtime::CheckMayBlock(const char* function) const {
  if (IsForked()) return WhyNotUsable();
  if (core::Worker::Current() == nullptr) return {};
  return gen::Error(gen::ErrorCode::kNotAllowed,
                    fmt::format("Node::{} would block a thread that runs processes; inside a "
                                "handler use the process's own functions",
                                function));
}

gen::Result<gen::PID> Runtime::SpawnFromOutside(const SpawnRequest& request) {
  auto may_block = CheckMayBlock("Spawn");
  if (!may_block) return std::move(may_block.error());
  core::Event done;
  gen::Result<void> started;
  auto pid = SpawnInBackground(request, [&](gen::Result<void> outcome) {
    started = std::move(outcome);
    done.Set();
  });
  if (!pid) return pid;
  dispatcher_->Wait(done);
  if (!started) return std::move(started.error());
  return pid;
}

gen::Result<gen::PID> Runtime::SpawnInBackground(const SpawnRequest& request,
                                                 std::function<void(gen::Result<void>)> done) {
  if (phase_.load() != Phase::kRunning) return gen::ErrNodeTerminated;
  auto opened = OpenProcess(request);
  if (!opened) return std::move(opened.error());
  Process& process = **opened;
  const gen::PID pid = process.Self();
  const std::uint64_t id = NextUniqueId();
  const gen::ProcessBehavior& behavior = *process.behavior_;
  const std::type_info& behavior_type = typeid(behavior);  // the process may end at any time
  process.GetInit().ref = id;
  const auto timeout = request.options.init_timeout;
  const std::int64_t deadline =
      timeout == gen::kInfinite ? 0 : DeadlineAfter(clock_->Now(), timeout);
  auto told = [this, pid, &behavior_type, timeout,
               done = std::move(done)](gen::Result<core::EnvelopePtr> answer) {
    gen::Error* error = answer ? (*answer)->ValueAs<gen::Error>() : nullptr;
    if (!answer) error = &answer.error();
    if (!answer && answer.error() == gen::ErrTimeout) {
      // It may compute or block its thread: then it is ended when that is over.
      *error = InitTimeoutError(pid, behavior_type, timeout);
      (void)Kill(pid);
    }
    done(error == nullptr ? gen::Result<void>() : std::move(*error));
  };
  pending_calls_.Add(id, deadline, {}, std::move(told));
  Dispatch(process);
  return pid;
}

gen::Result<gen::PID> Runtime::Spawn(const gen::ProcessFactory& factory,
                                     const gen::ProcessOptions& options, const gen::Args& args) {
  return SpawnFromOutside({.factory = factory, .options = options, .args = args, .parent = Self()});
}

gen::Result<gen::PID> Runtime::SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                             const gen::ProcessOptions& options,
                                             const gen::Args& args) {
  if (name.empty()) return Incorrect("name: must not be empty");
  return SpawnFromOutside(
      {.factory = factory, .options = options, .args = args, .parent = Self(), .name = name});
}

void Runtime::ProcessEnded(Process& process, gen::PID pid, const gen::Reason& reason) {
  std::vector<core::Event*> waiters;
  std::vector<ProcessCold::WaitingProcess> waiting_processes;
  // What the process had sent and handled stays in the node's books.
  if (process.counts_.sent() != 0) accepted_.Add(process.counts_.sent());
  if (process.counts_.handled() != 0) handled_by_ended_.Add(process.counts_.handled());
  process.counts_.Reset();
  // From here on it is over for those who have not asked yet. Partner: Process::IsYetToEnd.
  process.state_.store(static_cast<std::uint8_t>(gen::ProcessState::kStarting),
                       std::memory_order_seq_cst);
  if (ProcessCold* cold = process.cold_.load(std::memory_order_seq_cst)) {
    std::lock_guard lock(cold->lock);
    waiters.swap(cold->waiters);
    waiting_processes.swap(cold->waiting_processes);
    cold->name = gen::Atom();
    cold->counts.Reset();
  }
  if (reason.IsFailure()) failed_.fetch_add(1, std::memory_order_relaxed);
  // The next process on that thread begins when this turn is over.
  if (process.dispatcher_ != dispatcher_.get()) own_dispatchers_.Give(*process.dispatcher_);
  table_.Give(process);
  for (core::Event* waiter : waiters) waiter->Set();
  for (const auto& waiting : waiting_processes) {
    (void)Respond(waiting.pid, waiting.id,
                  core::MakeEnvelope<bool>(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                                           core::Lane::kMain, true));
  }
  {
    std::shared_ptr<StopSequence> sequence;
    if (phase_.load(std::memory_order_relaxed) == Phase::kStopping) {
      std::lock_guard lock(sequence_mutex_);
      sequence = sequence_;
    }
    if (sequence != nullptr) sequence->Ended(pid);
  }
  // Last: whoever waits for the count to match may tear the node down afterwards.
  const std::uint64_t ended = ended_.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (ended == spawned_.load(std::memory_order_seq_cst)) {
    if (core::Event* empty = empty_event_.exchange(nullptr, std::memory_order_seq_cst))
      empty->Set();
  }
}

// ---- calls from outside

void Runtime::CallEnvelopeAsync(const gen::Target& to, core::EnvelopePtr request,
                                std::chrono::nanoseconds timeout,
                                std::function<void(gen::Result<core::EnvelopePtr>)> done) {
  if (timeout <= std::chrono::nanoseconds::zero()) {
    done(Incorrect(fmt::format("timeout: {} ns, has to be more than 0", timeout.count())));
    return;
  }
  auto pid = Resolve(to);
  if (!pid) {
    done(std::move(pid.error()));
    return;
  }
  if (stopped_.load(std::memory_order_acquire)) {
    done(gen::ErrNodeTerminated);
    return;
  }
  const std::uint64_t id = NextUniqueId();
  const std::int64_t now = clock_->Now();
  const std::int64_t deadline = timeout == gen::kInfinite ? 0 : DeadlineAfter(now, timeout);
  request->from = Self().ToAddress();
  request->ref = id;
  request->deadline = deadline;
  const CallEdge::View edge{.id = id,
                            .stage = CallEdge::Stage::kSent,
                            .to = pid->id,
                            .type = request->type,
                            .since = now,
                            .ticket = TicketOf(*pid, *request)};
  pending_calls_.Add(id, deadline, edge, std::move(done));
  const bool is_message = Process::IsMessage(*request);  // or an inspection
  auto sent = Deliver(*pid, request);
  if (sent && is_message) CountAccepted();
  if (!sent) pending_calls_.Complete(id, std::move(sent.error()));
}

gen::Result<core::EnvelopePtr> Runtime::CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                                     std::chrono::nanoseconds timeout) {
  auto may_block = CheckMayBlock("Call");
  if (!may_block) return std::move(may_block.error());
  core::Event done;
  gen::Result<core::EnvelopePtr> response = gen::ErrNodeTerminated;
  CallEnvelopeAsync(to, std::move(request), timeout, [&](gen::Result<core::EnvelopePtr> answer) {
    response = std::move(answer);
    done.Set();
  });
  dispatcher_->Wait(done);
  return response;
}

gen::Result<void> Runtime::WaitProcess(const gen::Target& to, std::chrono::nanoseconds timeout) {
  auto may_block = CheckMayBlock("WaitProcess");
  if (!may_block) return may_block;
  auto checked = CheckNotNegative("timeout", timeout);
  if (!checked) return checked;
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  auto unless_it_lived = [&]() -> gen::Result<void> {
    auto reach = Reach(*pid);
    const bool lived =
        reach.error() == gen::ErrProcessTerminated || reach.error() == gen::ErrNodeTerminated;
    return lived ? gen::Result<void>() : reach;
  };
  Process* process = FindSlot(*pid);
  if (process == nullptr || !process->IsYetToEnd(*pid)) return unless_it_lived();
  core::Event ended;
  ProcessCold& cold = process->Cold();
  {
    std::lock_guard lock(cold.lock);
    if (!process->IsYetToEnd(*pid)) return unless_it_lived();
    cold.waiters.push_back(&ended);
  }
  if (timeout == gen::kInfinite) {
    dispatcher_->Wait(ended);
    return {};
  }
  if (dispatcher_->WaitFor(ended, timeout.count())) return {};
  {
    std::lock_guard lock(cold.lock);
    if (std::erase(cold.waiters, &ended) != 0) return gen::ErrTimeout;
  }
  dispatcher_->Wait(ended);  // it is being set just now
  return {};
}

gen::Result<void> Runtime::StopProcess(const gen::Target& to, std::chrono::nanoseconds timeout) {
  auto may_block = CheckMayBlock("StopProcess");
  if (!may_block) return may_block;
  auto checked = CheckNotNegative("timeout", timeout);  // before anything is asked
  if (!checked) return checked;
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  auto asked = StopAfterQueue(*pid, gen::Reason::Normal());
  if (!asked) return asked;
  return WaitProcess(*pid, timeout);
}

gen::Result<void> Runtime::Suspend(const gen::Target& to, std::chrono::nanoseconds timeout) {
  return AskToHold(to, gen::EnvelopeKind::kSuspend, timeout);
}

gen::Result<void> Runtime::Resume(const gen::Target& to, std::chrono::nanoseconds timeout) {
  return AskToHold(to, gen::EnvelopeKind::kResume, timeout);
}

gen::Result<void> Runtime::AskToHold(const gen::Target& to, gen::EnvelopeKind kind,
                                     std::chrono::nanoseconds timeout) {
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  auto answer = CallEnvelope(
      *pid, core::MakeSignal(static_cast<std::uint8_t>(kind), core::Lane::kUrgent), timeout);
  if (!answer) return std::move(answer.error());
  if (auto* error = (*answer)->ValueAs<gen::Error>()) return std::move(*error);
  return {};
}

gen::Result<void> Runtime::SendEnvelopeOrWait(const gen::Target& to, core::EnvelopePtr envelope,
                                              std::chrono::nanoseconds timeout) {
  auto may_block = CheckMayBlock("SendOrWait");
  if (!may_block) return may_block;
  auto checked = CheckNotNegative("timeout", timeout);
  if (!checked) return checked;
  const std::int64_t deadline = DeadlineAfter(clock_->Now(), timeout);
  envelope->from = Self().ToAddress();
  // A receiver that has room again tells nobody; this looks again, less and less often.
  constexpr std::int64_t kLeast = 20'000;    // ns
  constexpr std::int64_t kMost = 1'000'000;  // ns
  for (std::int64_t pause = kLeast;; pause = std::min(2 * pause, kMost)) {
    auto pid = Resolve(to);
    if (!pid) return std::move(pid.error());
    auto sent = Deliver(*pid, envelope);
    if (sent) CountAccepted();
    if (sent || sent.error() != gen::ErrProcessMailboxFull) return sent;
    const std::int64_t left = deadline - clock_->Now();
    if (left <= 0) return sent;
    core::Event never;
    (void)dispatcher_->WaitFor(never, std::min(pause, left));
  }
}

gen::Result<void> Runtime::StartApplication(gen::Atom name) {
  auto may_block = CheckMayBlock("StartApplication");
  if (!may_block) return may_block;
  return applications_.Start(name);
}

gen::Result<void> Runtime::StopApplication(gen::Atom name, std::chrono::nanoseconds timeout) {
  auto may_block = CheckMayBlock("StopApplication");
  if (!may_block) return may_block;
  auto checked = CheckNotNegative("timeout", timeout);
  if (!checked) return checked;
  return applications_.Stop(name, timeout);
}

}  // namespace ergon::node
