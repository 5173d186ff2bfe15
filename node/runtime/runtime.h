// The runtime behind a node: puts its rooms together, and opens their doors to the node's owner.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/core/dispatcher.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/node.h>
#include <ergon/gen/node_options.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/back_pressure.h>
#include <ergon/node/delivery/call_edges.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/delivery/pending_calls.h>
#include <ergon/node/delivery/request_claims.h>
#include <ergon/node/delivery/ticks.h>
#include <ergon/node/delivery/withdrawn_requests.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/diagnosis/dump.h>
#include <ergon/node/diagnosis/inspection.h>
#include <ergon/node/diagnosis/node_log.h>
#include <ergon/node/diagnosis/wait_graph.h>
#include <ergon/node/diagnosis/watchdog.h>
#include <ergon/node/events/publishing.h>
#include <ergon/node/groups/groups.h>
#include <ergon/node/io/io_thread.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/names/registry.h>
#include <ergon/node/process/rooms.h>
#include <ergon/node/process_state/table.h>
#include <ergon/node/runtime/applications.h>
#include <ergon/node/runtime/changes.h>
#include <ergon/node/runtime/debugger_view.h>
#include <ergon/node/runtime/outside_calls.h>
#include <ergon/node/runtime/shutdown.h>
#include <ergon/node/runtime/transport_factory.h>
#include <ergon/node/spawning/blocking_threads.h>
#include <ergon/node/spawning/dedicated_dispatchers.h>
#include <ergon/node/spawning/fork_guard.h>
#include <ergon/node/spawning/lineage.h>
#include <ergon/node/spawning/node_environment.h>
#include <ergon/node/spawning/pool_settings.h>
#include <ergon/node/spawning/population.h>
#include <ergon/node/spawning/spawning.h>
#include <ergon/node/timers/cron.h>
#include <ergon/node/timers/delayed_sends.h>
#include <ergon/node/timers/periodic_sends.h>
#include <ergon/node/timers/wall_clock.h>

namespace ergon::node {

class Runtime final : public gen::Node {
 public:
  static gen::Result<std::unique_ptr<Runtime>> Start(gen::Atom name,
                                                     const gen::NodeOptions& options);
  ~Runtime() override;

  // -- gen::Messenger --
  [[nodiscard]] gen::Result<gen::PID> Resolve(const gen::Target& target) const override;
  gen::Result<void> SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) override;
  gen::Result<core::EnvelopePtr> CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                              std::chrono::nanoseconds timeout) override;
  gen::Result<void> SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                         core::EnvelopePtr response) override;
  gen::Result<gen::TimerHandle> SendEnvelopeAfter(const gen::Target& to, core::EnvelopePtr envelope,
                                                  std::chrono::nanoseconds delay) override;
  gen::Result<gen::TimerHandle> SendEnvelopesEvery(const gen::Target& to,
                                                   std::function<core::EnvelopePtr()> make,
                                                   std::chrono::nanoseconds period) override;
  gen::Result<void> SendExit(const gen::Target& to, gen::Reason reason) override;

  // -- gen::GroupMessenger --
  [[nodiscard]] std::vector<gen::Atom> Groups() const override;
  [[nodiscard]] std::vector<gen::PID> GroupMembers(gen::Atom group) const override;
  [[nodiscard]] gen::Result<gen::PID> OneOf(gen::Atom group) override;
  gen::Result<std::size_t> SendEnvelopesToGroup(
      gen::Atom group, const std::function<core::EnvelopePtr()>& make) override;

  // -- gen::Node --
  [[nodiscard]] gen::Atom Name() const override { return addresses_.node(); }
  [[nodiscard]] gen::PID Self() const override { return addresses_.NodePid(); }
  [[nodiscard]] gen::Log Log() override { return gen::Log(log_); }
  gen::Result<gen::PID> Spawn(const gen::ProcessFactory& factory,
                              const gen::ProcessOptions& options, const gen::Args& args) override;
  gen::Result<gen::PID> SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                      const gen::ProcessOptions& options,
                                      const gen::Args& args) override;
  gen::Result<void> RegisterName(gen::Atom name, gen::PID pid) override;
  gen::Result<gen::PID> UnregisterName(gen::Atom name) override;
  gen::Result<void> JoinGroup(gen::Atom group, gen::PID pid) override;
  gen::Result<void> LeaveGroup(gen::Atom group, gen::PID pid) override;
  gen::Result<void> Kill(gen::PID pid) override;
  gen::Result<void> StopProcess(const gen::Target& to, std::chrono::nanoseconds timeout) override;
  gen::Result<void> Suspend(const gen::Target& to, std::chrono::nanoseconds timeout) override;
  gen::Result<void> Resume(const gen::Target& to, std::chrono::nanoseconds timeout) override;
  gen::Result<void> SetLogLevel(gen::LogLevel level) override;
  gen::Result<void> SetProcessLogLevel(const gen::Target& to,
                                       std::optional<gen::LogLevel> level) override;
  gen::Result<void> SetMailboxSize(int messages) override;
  gen::Result<void> SetProcessMailboxSize(const gen::Target& to, int messages) override;
  gen::Result<void> ReloadOptions() override;
  gen::Result<void> SendEnvelopeOrWait(const gen::Target& to, core::EnvelopePtr& envelope,
                                       std::chrono::nanoseconds timeout) override;
  gen::Result<void> WaitProcess(const gen::Target& to, std::chrono::nanoseconds timeout) override;
  [[nodiscard]] gen::Result<gen::ProcessInfo> ProcessInfo(gen::PID pid) const override;
  [[nodiscard]] std::vector<gen::PID> ProcessList() const override;
  [[nodiscard]] gen::NodeInfo Info() const override;
  [[nodiscard]] gen::MessageBalance MessageBalance() const override;
  [[nodiscard]] std::vector<gen::DroppedMessage> LastDrops() const override;
  [[nodiscard]] std::vector<gen::WaitEdge> WaitForGraph() const override;
  void Dump(std::ostream& stream) const override;
  gen::Result<void> LoadApplication(const gen::ApplicationSpec& spec) override;
  gen::Result<void> UnloadApplication(gen::Atom name) override;
  gen::Result<void> StartApplication(gen::Atom name,
                                     const gen::ApplicationStartOptions& options) override;
  gen::Result<void> StopApplicationForce(gen::Atom name) override;
  gen::Result<void> StopApplication(gen::Atom name, std::chrono::nanoseconds timeout) override;
  [[nodiscard]] gen::Result<gen::ApplicationInfo> ApplicationInfo(gen::Atom name) const override;
  [[nodiscard]] std::vector<gen::Atom> Applications() const override;
  [[nodiscard]] gen::AnyValue FindEnv(std::string_view name) const override;
  [[nodiscard]] gen::Environment EnvList() const override;
  void SetEnv(std::string_view name, gen::AnyValue value) override;
  gen::Result<void> AddCronJob(const gen::CronJob& job) override;
  gen::Result<void> RemoveCronJob(gen::Atom name) override;
  gen::Result<void> EnableCronJob(gen::Atom name) override;
  gen::Result<void> DisableCronJob(gen::Atom name) override;
  [[nodiscard]] gen::Result<gen::CronJobInfo> CronJobInfo(gen::Atom name) const override;
  [[nodiscard]] std::vector<gen::CronJobInfo> CronJobs() const override;
  [[nodiscard]] std::vector<gen::CronRun> CronRuns(std::chrono::sys_seconds since,
                                                   std::chrono::seconds duration) const override;
  void CheckCronJobs() { cron_.Look(); }
  void Stop() override { shutdown_.Stop(false); }
  void StopForce() override { shutdown_.Stop(true); }
  void Wait() override;
  gen::Result<void> WaitForSignal() override;
  void CallEnvelopeAsync(const gen::Target& to, core::EnvelopePtr request,
                         std::chrono::nanoseconds timeout,
                         std::function<void(gen::Result<core::EnvelopePtr>)> done) override;

  // -- for node::Node, which looks at them first --
  [[nodiscard]] bool IsUsable() const noexcept { return shutdown_.IsUsable(); }
  [[nodiscard]] bool IsForked() const noexcept { return fork_guard_.IsForked(); }
  // kNodeTerminated, and why.
  [[nodiscard]] gen::Error WhyNotUsable() const;
  // Ends the program, with words, when the end of the node would wait for the calling handler.
  void CheckMayBeDestroyed() const;
  // Aborts the program when the node has its owner's clock, and no I/O.
  [[nodiscard]] IoThread& Io();
  // The way to other nodes; null: there is none.
  [[nodiscard]] Transport* transport() const noexcept { return transport_.get(); }

  // -- for the observer --
  [[nodiscard]] const Addresses& addresses() const noexcept { return addresses_; }
  [[nodiscard]] const core::Dispatcher& dispatcher() const noexcept { return *dispatcher_; }
  [[nodiscard]] bool IsStopping() const noexcept { return population_.RefusesOutsiders(); }

 private:
  Runtime(gen::Atom name, gen::NodeOptions options, std::shared_ptr<core::Clock> clock,
          std::shared_ptr<core::Dispatcher> dispatcher);

  gen::Result<void> OpenTransport(const gen::Network& network);
  gen::Result<gen::PID> SpawnFromOutside(const SpawnRequest& request);

  // In the order in which the rooms need each other; threads last.
  const gen::NodeOptions options_;
  const std::shared_ptr<core::Clock> clock_;
  const std::int64_t started_at_ = clock_->Now();
  const std::shared_ptr<core::TimerQueue> timers_;
  const WallClock wall_clock_;
  const ForkGuard fork_guard_;
  NodeLog log_;
  const Rooms rooms_;  // references to what follows
  ProcessTable table_;
  Addresses addresses_;
  Descriptions descriptions_;
  PendingCalls pending_calls_;
  CallEdges call_edges_;
  RequestClaims request_claims_;
  WithdrawnRequests withdrawn_;
  Drops drops_;
  MessageTotals totals_;
  Ticks ticks_;
  Delivery delivery_;
  BackPressure back_pressure_;
  ExitSignals exit_signals_;
  Relations relations_;
  Registry registry_;
  Publishing publishing_;
  node::Groups groups_;
  DelayedSends delayed_sends_;
  PeriodicSends periodic_sends_;
  WaitGraph wait_graph_;
  Inspection inspection_;
  PoolSettings pool_settings_;
  Changes changes_;
  node::Dump dump_;
  NodeEnvironment environment_;
  Inheritance inheritance_;
  std::shared_ptr<core::Dispatcher> dispatcher_;  // its threads use the rooms
  DedicatedDispatchers dedicated_dispatchers_;    // theirs too
  BlockingThreads blocking_threads_;
  Population population_;
  Spawning spawning_;
  Cron cron_;
  node::Applications applications_;
  OutsideCalls outside_calls_;
  std::unique_ptr<Watchdog> watchdog_;    // null: nothing is watched
  std::unique_ptr<IoThread> io_;          // null with the owner's own clock
  std::unique_ptr<Transport> transport_;  // null: there are no other nodes
  Shutdown shutdown_;
  const DebuggerView debugger_view_{addresses_};
};

// What is behind a node, be it the owner's or that of its processes. Throws std::logic_error, which names the
// function, when it is of another kind than those of node::Start.
[[nodiscard]] Runtime& RuntimeOf(gen::Node& node, const char* function);

}  // namespace ergon::node
