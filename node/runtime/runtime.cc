#include <ergon/node/runtime/runtime.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <mutex>
#include <random>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/fatal.h>
#include <ergon/core/messages/envelope_pool.h>
#include <ergon/core/turns/stack_overflow.h>
#include <ergon/core/turns/worker.h>
#include <ergon/core/work_sharing.h>
#include <ergon/core/work_stealing.h>
#include <ergon/gen/blocking.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process/process.h>

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
  core::WatchForks(&core::LockEnvelopePool, &core::UnlockEnvelopePool);
  auto runtime =
      std::unique_ptr<Runtime>(new Runtime(name, options, std::move(clock), std::move(dispatcher)));
  gen::SetBlockingRuntime(ProcessRunner::BlockingCalls());
  core::SetOverflowReport(&ProcessRunner::ReportOverflow);
  if (options.clock == nullptr && options.watchdog_after.count() != 0) {
    runtime->watchdog_ =
        std::make_unique<Watchdog>(runtime->addresses_, runtime->inspection_, runtime->log_,
                                   *runtime->dispatcher_, options.watchdog_after);
  }
  std::string problem;
  if (!runtime->dispatcher_->Start(&problem)) {
    return gen::Error(gen::ErrorCode::kInternal, problem);
  }
  // What has been started by then ends with the runtime.
  const char* what = "watchdog";
  try {
    runtime->shutdown_.SetThreads(nullptr, runtime->watchdog_.get());
    if (runtime->watchdog_ != nullptr) runtime->watchdog_->Start();
    what = "thread for timers and signals";
    if (options.clock == nullptr) runtime->io_ = std::make_unique<IoThread>(*runtime->timers_);
    runtime->shutdown_.SetThreads(runtime->io_.get(), runtime->watchdog_.get());
    if (options.stop_on_signal) {
      auto listens = runtime->shutdown_.StopOnSignal();
      if (!listens) return std::move(listens.error());
    }
    if (options.dump_on_sigquit) {
      auto listens = runtime->io_->StartSignals({SIGQUIT}, [&node = *runtime](int) {
        // Of several nodes one after the other.
        static std::mutex one_at_a_time;
        std::lock_guard lock(one_at_a_time);
        node.Dump(std::cerr);
      });
      if (!listens) return std::move(listens.error());
    }
    // Before the network is opened, which may take seconds.
    if (!options.options_file.empty() && runtime->io_ != nullptr) {
      auto listens = runtime->io_->StartSignals(
          {SIGHUP}, [&changes = runtime->changes_](int) { changes.ReloadAndTell(); });
      if (!listens) return std::move(listens.error());
    }
  } catch (const std::exception& error) {
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("the node's {} cannot be started: {}", what, error.what()));
  }
  if (options.network != nullptr) {
    auto open = runtime->OpenTransport(*options.network);
    if (!open) return std::move(open.error());
  } else if (!options.network_options.empty()) {
    return NoNetworkFor(options.network_options.front());
  }
  return runtime;
}

gen::Result<void> Runtime::OpenTransport(const gen::Network& network) {
  const auto* factory = dynamic_cast<const TransportFactory*>(&network);
  if (factory == nullptr) return Incorrect("network: it is of none of the kinds that a node knows");
  auto transport = factory->Open({addresses_, delivery_, relations_, exit_signals_, groups_,
                                  publishing_, spawning_, drops_, totals_, log_},
                                 options_.types, options_.network_options);
  if (!transport) return std::move(transport.error());
  transport_ = std::move(*transport);
  changes_.SetTransport(transport_.get());
  shutdown_.SetTransport(transport_.get());
  return {};
}

Runtime::Runtime(gen::Atom name, gen::NodeOptions options, std::shared_ptr<core::Clock> clock,
                 std::shared_ptr<core::Dispatcher> dispatcher)
    : options_(std::move(options)),
      clock_(std::move(clock)),
      timers_(options_.timers != nullptr ? options_.timers
                                         : std::make_shared<core::TimerQueue>(*clock_)),
      wall_clock_(options_.wall_clock, options_.clock.get()),
      fork_guard_(name),
      log_(name, options_.log_level, options_.log_sink),
      rooms_{.addresses = addresses_,
             .delivery = delivery_,
             .back_pressure = back_pressure_,
             .call_edges = call_edges_,
             .request_claims = request_claims_,
             .withdrawn = withdrawn_,
             .drops = drops_,
             .totals = totals_,
             .ticks = ticks_,
             .relations = relations_,
             .exit_signals = exit_signals_,
             .registry = registry_,
             .publishing = publishing_,
             .groups = groups_,
             .timers = *timers_,
             .clock = *clock_,
             .has_own_clock = options_.clock != nullptr,
             .delayed_sends = delayed_sends_,
             .periodic_sends = periodic_sends_,
             .wait_graph = wait_graph_,
             .descriptions = descriptions_,
             .log = log_,
             .population = population_,
             .spawning = spawning_,
             .inheritance = inheritance_,
             .mailbox_size = changes_.mailbox_size(),
             .pool_settings = pool_settings_,
             .dispatcher = *dispatcher,
             .dedicated_dispatchers = dedicated_dispatchers_,
             .blocking_threads = blocking_threads_,
             .fork_guard = fork_guard_,
             .io = io_,
             .node = *this},
      table_(Process::Kind(rooms_)),
      addresses_(name, options_.creation == 0 ? MakeCreation() : options_.creation, table_),
      descriptions_(addresses_, *clock_),
      pending_calls_(
          *timers_,
          [this](const CallEdge::View& call) { return descriptions_.TimeoutError(call); }),
      call_edges_(addresses_, pending_calls_),
      request_claims_(addresses_, pending_calls_, *clock_),
      drops_(addresses_, *clock_, started_at_, options_.drops_remembered),
      delivery_(
          {addresses_, pending_calls_, call_edges_, withdrawn_, drops_, totals_, ticks_, *timers_}),
      back_pressure_(addresses_, delivery_),
      exit_signals_(addresses_, delivery_),
      relations_(addresses_, delivery_, exit_signals_),
      registry_(addresses_, relations_),
      publishing_({addresses_, delivery_, exit_signals_, drops_, totals_, *clock_}),
      groups_({addresses_, delivery_, drops_}),
      delayed_sends_({addresses_, delivery_, totals_, *timers_, *clock_}),
      periodic_sends_({addresses_, delivery_, totals_, ticks_, *timers_, *clock_, log_}),
      wait_graph_(addresses_, delivery_, withdrawn_, *clock_),
      inspection_({addresses_, drops_, totals_, *clock_, log_}),
      pool_settings_(options_.pools),
      changes_({addresses_, back_pressure_, log_, options_, pool_settings_, spawning_}),
      dump_(addresses_, *clock_),
      environment_(options_.environment),
      inheritance_(addresses_, environment_),
      dispatcher_(std::move(dispatcher)),
      blocking_threads_(dedicated_dispatchers_, options_.blocking_threads),
      population_(addresses_, delivery_, *dispatcher_, dedicated_dispatchers_),
      spawning_(
          {addresses_, pending_calls_, relations_, registry_, exit_signals_, population_, *clock_}),
      cron_({addresses_, delivery_, spawning_, *timers_, *clock_, wall_clock_, log_, io_}),
      applications_(*this),
      outside_calls_({addresses_, delivery_, back_pressure_, pending_calls_, totals_, *dispatcher_,
                      *clock_, fork_guard_}),
      shutdown_({addresses_, pending_calls_, exit_signals_, population_, applications_, inspection_,
                 *dispatcher_, dedicated_dispatchers_, *timers_, *clock_, options_, fork_guard_,
                 log_, [this] { Dump(std::cerr); }}) {}

Runtime::~Runtime() { Stop(); }

IoThread& Runtime::Io() {
  if (io_ == nullptr) core::Fatal("Await", "a node with a clock of its own has no I/O");
  return *io_;
}

gen::Error Runtime::WhyNotUsable() const {
  return IsForked() ? fork_guard_.Error() : gen::ErrNodeTerminated;
}

void Runtime::CheckMayBeDestroyed() const {
  const ProcessRunner* process = core::Worker::Current() == nullptr ? nullptr : CurrentProcess();
  if (process == nullptr || !process->IsOf(*this)) return;
  const std::string text = fmt::format(
      "{}: a handler of {} destroys its own node, whose end would wait for that handler, or calls "
      "exit() while the node is a static variable. Call Node().Stop() there, and let the node's "
      "owner wait for it",
      Name(), process->InHandler());
  core::Fatal("node::Node::~Node", text.c_str());
}

// ---- sending

gen::Result<gen::PID> Runtime::Resolve(const gen::Target& target) const {
  return addresses_.Resolve(target);
}

gen::Result<void> Runtime::SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) {
  auto sent = delivery_.DeliverFromNode(to, envelope);
  if (!sent && IsImportant(*envelope) && addresses_.TransportTo(to) != nullptr) {
    return outside_calls_.SendImportant(to, envelope);
  }
  return sent;
}

gen::Result<void> Runtime::SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                                core::EnvelopePtr response) {
  response->from = Self().ToAddress();
  return delivery_.Respond(from, ref.id, std::move(response));
}

gen::Result<gen::TimerHandle> Runtime::SendEnvelopeAfter(const gen::Target& to,
                                                         core::EnvelopePtr envelope,
                                                         std::chrono::nanoseconds delay) {
  envelope->from = Self().ToAddress();
  return delayed_sends_.Start(to, std::move(envelope), delay);
}

gen::Result<gen::TimerHandle> Runtime::SendEnvelopesEvery(const gen::Target& to,
                                                          std::function<core::EnvelopePtr()> make,
                                                          std::chrono::nanoseconds period) {
  return periodic_sends_.Start(Self(), to, std::move(make), period);
}

gen::Result<void> Runtime::SendExit(const gen::Target& to, gen::Reason reason) {
  return exit_signals_.SendExit(Self(), to, reason);
}

// ---- groups

std::vector<gen::Atom> Runtime::Groups() const { return groups_.Names(); }

std::vector<gen::PID> Runtime::GroupMembers(gen::Atom group) const {
  return groups_.Members(group);
}

gen::Result<gen::PID> Runtime::OneOf(gen::Atom group) { return groups_.OneOf(group); }

gen::Result<std::size_t> Runtime::SendEnvelopesToGroup(
    gen::Atom group, const std::function<core::EnvelopePtr()>& make) {
  return groups_.Send(Self(), group, make, [this] { totals_.accepted.Add(); });
}

gen::Result<void> Runtime::JoinGroup(gen::Atom group, gen::PID pid) {
  return groups_.Join(group, pid);
}

gen::Result<void> Runtime::LeaveGroup(gen::Atom group, gen::PID pid) {
  return groups_.Leave(group, pid);
}

// ---- calls and waits

void Runtime::CallEnvelopeAsync(const gen::Target& to, core::EnvelopePtr request,
                                std::chrono::nanoseconds timeout,
                                std::function<void(gen::Result<core::EnvelopePtr>)> done) {
  outside_calls_.CallAsync(to, std::move(request), timeout, std::move(done));
}

gen::Result<core::EnvelopePtr> Runtime::CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                                     std::chrono::nanoseconds timeout) {
  return outside_calls_.Call(to, std::move(request), timeout);
}

gen::Result<void> Runtime::SendEnvelopeOrWait(const gen::Target& to, core::EnvelopePtr& envelope,
                                              std::chrono::nanoseconds timeout) {
  return outside_calls_.SendOrWait(to, envelope, timeout);
}

gen::Result<void> Runtime::WaitProcess(const gen::Target& to, std::chrono::nanoseconds timeout) {
  return outside_calls_.WaitProcess(to, timeout);
}

gen::Result<void> Runtime::StopProcess(const gen::Target& to, std::chrono::nanoseconds timeout) {
  auto may_block = outside_calls_.CheckMayBlock("StopProcess");
  if (!may_block) return may_block;
  auto checked = CheckNotNegative("timeout", timeout);  // before anything is asked
  if (!checked) return checked;
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  auto asked = exit_signals_.StopAfterQueue(*pid, gen::Reason::Normal());
  if (!asked) return asked;
  return WaitProcess(*pid, timeout);
}

gen::Result<void> Runtime::Suspend(const gen::Target& to, std::chrono::nanoseconds timeout) {
  return outside_calls_.AskToHold(to, gen::EnvelopeKind::kSuspend, timeout);
}

gen::Result<void> Runtime::Resume(const gen::Target& to, std::chrono::nanoseconds timeout) {
  return outside_calls_.AskToHold(to, gen::EnvelopeKind::kResume, timeout);
}

// ---- changes

gen::Result<void> Runtime::SetLogLevel(gen::LogLevel level) { return changes_.SetLogLevel(level); }

gen::Result<void> Runtime::SetProcessLogLevel(const gen::Target& to,
                                              std::optional<gen::LogLevel> level) {
  return changes_.SetProcessLogLevel(to, level);
}

gen::Result<void> Runtime::SetMailboxSize(int messages) {
  return changes_.SetMailboxSize(messages);
}

gen::Result<void> Runtime::SetProcessMailboxSize(const gen::Target& to, int messages) {
  return changes_.SetProcessMailboxSize(to, messages);
}

gen::Result<void> Runtime::ReloadOptions() { return changes_.Reload(*this); }

void Runtime::Wait() {
  if (!IsForked() && outside_calls_.CheckMayBlock("Wait")) shutdown_.Wait();
}

gen::Result<void> Runtime::WaitForSignal() {
  auto may_block = outside_calls_.CheckMayBlock("WaitForSignal");
  if (!may_block) return may_block;
  return shutdown_.WaitForSignal();
}

// ---- processes

gen::Result<gen::PID> Runtime::SpawnFromOutside(const SpawnRequest& request) {
  auto may_block = outside_calls_.CheckMayBlock("Spawn");
  if (!may_block) return std::move(may_block.error());
  core::Event done;
  gen::Result<void> started;
  auto pid = spawning_.StartInBackground(request, [&](gen::Result<void> outcome) {
    started = std::move(outcome);
    done.Set();
  });
  if (!pid) return pid;
  dispatcher_->Wait(done);
  if (!started) return std::move(started.error());
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

gen::Result<void> Runtime::RegisterName(gen::Atom name, gen::PID pid) {
  return registry_.RegisterName(name, pid);
}

gen::Result<gen::PID> Runtime::UnregisterName(gen::Atom name) {
  return registry_.UnregisterName(name);
}

gen::Result<void> Runtime::Kill(gen::PID pid) { return exit_signals_.Kill(pid); }

// ---- views

gen::Result<gen::ProcessInfo> Runtime::ProcessInfo(gen::PID pid) const {
  auto info = inspection_.ProcessInfo(pid);
  if (info) info->application = applications_.NameOf(info->leader);
  return info;
}

std::vector<gen::PID> Runtime::ProcessList() const { return inspection_.ProcessList(); }

gen::MessageBalance Runtime::MessageBalance() const { return inspection_.MessageBalance(); }

std::vector<gen::DroppedMessage> Runtime::LastDrops() const { return drops_.Newest(); }

std::vector<gen::WaitEdge> Runtime::WaitForGraph() const { return wait_graph_.Edges(); }

void Runtime::Dump(std::ostream& stream) const {
  if (IsForked()) {
    stream << fmt::format("{}: {}\n", Name(), WhyNotUsable().ToString());
  } else {
    dump_.Write(stream, Info(), transport_ ? transport_->Describe() : std::vector<std::string>());
  }
}

gen::NodeInfo Runtime::Info() const {
  gen::NodeInfo info;
  info.name = Name();
  info.creation = addresses_.creation();
  info.dispatcher = dispatcher_->name();
  info.workers = dispatcher_->workers();
  info.throughput = dispatcher_->throughput();
  info.uptime = std::chrono::nanoseconds(clock_->Now() - started_at_);
  info.processes_ended = population_.ended();
  info.processes_spawned = population_.spawned();
  info.processes = info.processes_spawned - info.processes_ended;
  info.processes_failed = population_.failed();
  info.names = addresses_.names().size();
  info.aliases = addresses_.aliases().size();
  info.timers = timers_->size();
  drops_.CopyCounts(info);
  info.drops_not_remembered = drops_.NotRemembered();
  const core::DispatcherStats stats = dispatcher_->Stats();
  info.turns = stats.turns;
  info.steals = stats.steals;
  info.wakeups = stats.wakeups;
  info.ready = dispatcher_->ReadyApprox();
  info.blocking_lent = blocking_threads_.lent();
  info.blocking_refused = blocking_threads_.refused();
  if (watchdog_ != nullptr) info.busy = watchdog_->Busy();
  return info;
}

// ---- applications, environment, cron jobs

gen::Result<void> Runtime::LoadApplication(const gen::ApplicationSpec& spec) {
  return applications_.Load(spec);
}

gen::Result<void> Runtime::UnloadApplication(gen::Atom name) { return applications_.Unload(name); }

gen::Result<void> Runtime::StartApplication(gen::Atom name,
                                            const gen::ApplicationStartOptions& options) {
  auto may_block = outside_calls_.CheckMayBlock("StartApplication");
  if (!may_block) return may_block;
  return applications_.Start(name, options);
}

gen::Result<void> Runtime::StopApplicationForce(gen::Atom name) {
  auto may_block = outside_calls_.CheckMayBlock("StopApplicationForce");
  if (!may_block) return may_block;
  return applications_.StopForce(name);
}

gen::Result<void> Runtime::StopApplication(gen::Atom name, std::chrono::nanoseconds timeout) {
  auto may_block = outside_calls_.CheckMayBlock("StopApplication");
  if (!may_block) return may_block;
  auto checked = CheckNotNegative("timeout", timeout);
  if (!checked) return checked;
  return applications_.Stop(name, timeout);
}

gen::Result<gen::ApplicationInfo> Runtime::ApplicationInfo(gen::Atom name) const {
  return applications_.Info(name, clock_->Now());
}

std::vector<gen::Atom> Runtime::Applications() const { return applications_.List(); }

gen::AnyValue Runtime::FindEnv(std::string_view name) const { return environment_.Find(name); }

gen::Environment Runtime::EnvList() const { return *environment_.Get(); }

void Runtime::SetEnv(std::string_view name, gen::AnyValue value) {
  environment_.Set(name, std::move(value));
}

gen::Result<void> Runtime::AddCronJob(const gen::CronJob& job) { return cron_.Add(job); }

gen::Result<void> Runtime::RemoveCronJob(gen::Atom name) { return cron_.Remove(name); }

gen::Result<void> Runtime::EnableCronJob(gen::Atom name) { return cron_.Enable(name, true); }

gen::Result<void> Runtime::DisableCronJob(gen::Atom name) { return cron_.Enable(name, false); }

gen::Result<gen::CronJobInfo> Runtime::CronJobInfo(gen::Atom name) const {
  return cron_.Info(name);
}

std::vector<gen::CronJobInfo> Runtime::CronJobs() const { return cron_.List(); }

std::vector<gen::CronRun> Runtime::CronRuns(std::chrono::sys_seconds since,
                                            std::chrono::seconds duration) const {
  return cron_.Runs(since, duration);
}

}  // namespace ergon::node
