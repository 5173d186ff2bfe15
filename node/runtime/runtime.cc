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
#include <ergon/gen/atom.h>
#include <ergon/gen/blocking.h>
#include <ergon/node/delivery/foreign_aliases.h>
#include <ergon/node/io/closed_streams.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process/process.h>

namespace ergon::node {
namespace {

// Tells incarnations of a node name apart, also those of different programs.
std::uint32_t MakeCreation() {
  const std::uint32_t creation = std::random_device()();
  return creation < 4 ? creation + 4 : creation;  // 0 to 3 are reserved by the Erlang distribution
}

// What all nodes of the program share, and whoever holds one of these locks waits for none of the others.
void LockForFork() {
  LockForeignAliases();
  gen::detail::LockAtoms();
  core::LockEnvelopePool();
}
void UnlockAfterFork() {
  core::UnlockEnvelopePool();
  gen::detail::UnlockAtoms();
  UnlockForeignAliases();
}
void UnlockInChild() {
  core::UnlockEnvelopePoolInChild();
  gen::detail::UnlockAtoms();
  UnlockForeignAliases();
}

}  // namespace

gen::Result<std::unique_ptr<Runtime>> Runtime::Start(gen::Atom name,
                                                     const gen::NodeOptions& options,
                                                     MakeNode make_node) {
  auto checked = CheckOptions(options);
  if (!checked) return std::move(checked.error());
  if (options.clock == nullptr) OccupyClosedStreams();  // else it opens nothing
  std::shared_ptr<core::Dispatcher> dispatcher = options.dispatcher;
  if (dispatcher == nullptr) {
    dispatcher = options.policy == gen::DispatcherPolicy::kWorkSharing
                     ? core::MakeWorkSharing(DispatcherOptionsOf(options))
                     : core::MakeWorkStealing(DispatcherOptionsOf(options));
  }
  core::WatchForks(&LockForFork, &UnlockAfterFork, &UnlockInChild);
  auto runtime =
      std::unique_ptr<Runtime>(new Runtime(name, options, std::move(dispatcher), make_node));
  gen::SetBlockingRuntime(ProcessRunner::BlockingCalls());
  core::SetOverflowReport(&ProcessRunner::ReportOverflow);
  // What has been started before an error ends with the runtime.
  auto started = runtime->StartThreads();
  if (!started) return std::move(started.error());
  if (options.network != nullptr) {
    auto open = runtime->OpenTransport(*options.network);
    if (!open) return std::move(open.error());
  } else if (!options.network_options.empty()) {
    return NoNetworkFor(options.network_options.front());
  }
  return runtime;
}

gen::Result<void> Runtime::StartThreads() {
  const bool has_own_clock = options_.clock != nullptr;
  if (!has_own_clock && options_.watchdog_after.count() != 0) {
    watchdog_ = std::make_unique<Watchdog>(addresses_, inspection_, log_, *dispatcher_,
                                           options_.watchdog_after);
  }
  std::string problem;
  if (!dispatcher_->Start(&problem)) return gen::Error(gen::ErrorCode::kInternal, problem);
  const char* what = "watchdog";
  try {
    shutdown_.SetThreads(nullptr, watchdog_.get());
    if (watchdog_ != nullptr) watchdog_->Start();
    what = "thread for timers and signals";
    if (!has_own_clock) io_ = std::make_unique<IoThread>(*timers_);
    shutdown_.SetThreads(io_.get(), watchdog_.get());
    return ListenToSignals();
  } catch (const std::exception& error) {
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("the node's {} cannot be started: {}", what, error.what()));
  }
}

gen::Result<void> Runtime::ListenToSignals() {
  if (options_.stop_on_signal) {
    auto listens = shutdown_.StopOnSignal();
    if (!listens) return listens;
  }
  if (options_.dump_on_sigquit) {
    auto listens = io_->StartSignals({SIGQUIT}, [this](int) {
      // Of several nodes one after the other.
      static std::mutex one_at_a_time;
      std::lock_guard lock(one_at_a_time);
      node_->Dump(std::cerr);
    });
    if (!listens) return listens;
  }
  // Before the network is opened, which may take seconds.
  if (options_.options_file.empty() || io_ == nullptr) return {};
  return io_->StartSignals({SIGHUP}, [this](int) { changes_.ReloadAndTell(); });
}

gen::Result<void> Runtime::OpenTransport(const gen::Network& network) {
  const auto* factory = dynamic_cast<const TransportFactory*>(&network);
  if (factory == nullptr) return Incorrect("network: must be what dist::Erlang returns");
  auto transport = factory->Open({.addresses = addresses_,
                                  .delivery = delivery_,
                                  .relations = relations_,
                                  .exit_signals = exit_signals_,
                                  .groups = groups_,
                                  .publishing = publishing_,
                                  .spawning = spawning_,
                                  .drops = drops_,
                                  .totals = totals_,
                                  .log = log_},
                                 options_.types, options_.network_options);
  if (!transport) return std::move(transport.error());
  transport_.Set(std::move(*transport));
  return {};
}

Runtime::Runtime(gen::Atom name, const gen::NodeOptions& options,
                 std::shared_ptr<core::Dispatcher> dispatcher, MakeNode make_node)
    : node_(make_node(*this)),
      options_(options),
      fork_guard_(name),
      log_(name, options_.log_level, options_.log_format, options_.log_sink,
           [this] { return wall_clock_.Now(); }),
      table_(Process::Kind(rooms_)),
      addresses_(name, options_.creation == 0 ? MakeCreation() : options_.creation, table_),
      recorder_(addresses_, log_, fork_guard_, dispatcher->options().hooks.get()),
      rooms_(RoomsWith(*dispatcher)),
      dispatcher_(std::move(dispatcher)) {
  if (options_.log_burst != 0) log_.LimitBursts(options_.log_burst, *timers_, *clock_);
}

// Those that are not there yet are only referred to, by their own types: none is converted to a base, or asked.
Rooms Runtime::RoomsWith(core::Dispatcher& dispatcher) {
  return {.addresses = addresses_,
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
          .send_recorder = recorder_,
          .latency = latency_.get(),
          .log = log_,
          .population = population_,
          .spawning = spawning_,
          .lineage = lineage_,
          .mailbox_size = changes_.mailbox_size(),
          .pool_settings = pool_settings_,
          .dispatcher = dispatcher,
          .dedicated_dispatchers = dedicated_dispatchers_,
          .blocking_threads = blocking_threads_,
          .fork_guard = fork_guard_,
          .io = io_,
          .node = *node_};
}

Runtime::~Runtime() { shutdown_.Stop(false, gen::Reason::Shutdown()); }

IoThread& Runtime::Io() {
  if (io_ == nullptr) core::Fatal("Await", "a node with a clock of its own has no I/O");
  return *io_;
}

gen::Result<std::shared_ptr<TraceFile>> Runtime::TraceTo(const std::string& path,
                                                         const TraceFileOptions& options) {
  if (!IsUsable()) return WhyNotUsable();
  return recorder_.Begin(*dispatcher_, options_.clock != nullptr, path, options);
}

gen::Error Runtime::WhyNotUsable() const {
  return IsForked() ? fork_guard_.Error() : gen::ErrNodeTerminated;
}

gen::NodeInfo Runtime::Info() const {
  gen::NodeInfo info;
  info.name = addresses_.node();
  info.creation = addresses_.creation();
  info.dispatcher = dispatcher_->name();
  info.workers = dispatcher_->workers();
  info.throughput = dispatcher_->throughput();
  info.uptime = std::chrono::nanoseconds(clock_->Now() - started_at_);
  info.processes_ended = totals_.ended.processes();  // first
  info.processes_spawned = population_.spawned();
  info.processes = info.processes_spawned - info.processes_ended;
  info.processes_failed = totals_.ended.failed();
  info.names = addresses_.names().size();
  info.aliases = addresses_.aliases().size();
  info.timers = timers_->size();
  drops_.CopyCounts(info);
  info.drops_not_remembered = drops_.NotRemembered();
  info.log_lines_left_out = log_.left_out();
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

void Runtime::CheckMayBeDestroyed() const {
  if (io_ != nullptr && io_->IsCurrent()) {
    const std::string text = fmt::format(
        "{}: a function on the thread of the node's I/O destroys that node, whose end would wait "
        "for "
        "that thread. Call Stop() there, and let the node's owner wait for it",
        addresses_.node());
    core::Fatal("node::Node::~Node", text.c_str());
  }
  const ProcessRunner* process = core::Worker::Current() == nullptr ? nullptr : CurrentProcess();
  if (process == nullptr || !process->IsOf(*node_)) return;
  const std::string text = fmt::format(
      "{}: a handler of {} destroys its own node, whose end would wait for that handler, or calls "
      "exit() while the node is a static variable. Call Node().Stop() there, and let the node's "
      "owner wait for it",
      addresses_.node(), process->InHandler());
  core::Fatal("node::Node::~Node", text.c_str());
}

}  // namespace ergon::node
