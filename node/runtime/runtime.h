// The runtime behind a node: puts its parts, one or more for each folder, together. node::Node makes them public.
#pragma once

#include <cstdint>
#include <iostream>
#include <memory>

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
#include <ergon/node/metrics/latency.h>
#include <ergon/node/metrics/user_metrics.h>
#include <ergon/node/names/registry.h>
#include <ergon/node/process/rooms.h>
#include <ergon/node/process_state/table.h>
#include <ergon/node/recording/recorder.h>
#include <ergon/node/runtime/applications.h>
#include <ergon/node/runtime/changes.h>
#include <ergon/node/runtime/debugger_view.h>
#include <ergon/node/runtime/opened_transport.h>
#include <ergon/node/runtime/outside_calls.h>
#include <ergon/node/runtime/shutdown.h>
#include <ergon/node/runtime/transport_factory.h>
#include <ergon/node/spawning/behavior_levels.h>
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

class Node;

// Any thread, after Start.
class Runtime {
 public:
  // Makes the gen::Node that processes get, which stays where it is when the owner moves his.
  using MakeNode = std::unique_ptr<gen::Node> (*)(Runtime& runtime);

  static gen::Result<std::unique_ptr<Runtime>> Start(gen::Atom name,
                                                     const gen::NodeOptions& options,
                                                     MakeNode make_node);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  [[nodiscard]] bool IsUsable() const noexcept { return shutdown_.IsUsable(); }
  [[nodiscard]] bool IsForked() const noexcept { return fork_guard_.IsForked(); }
  // Returns kNodeTerminated, with the reason.
  [[nodiscard]] gen::Error WhyNotUsable() const;
  // Ends the program, with a message, when the end of the node would wait for the calling handler.
  void CheckMayBeDestroyed() const;
  // Returns the node's I/O thread. Aborts the program when the node has a clock of the owner's, and so no I/O.
  [[nodiscard]] IoThread& Io();
  // Begins a recording. Any thread.
  gen::Result<std::shared_ptr<TraceFile>> TraceTo(const std::string& path,
                                                  const TraceFileOptions& options);
  // Returns the transport to other nodes; null: there is none.
  [[nodiscard]] Transport* transport() const noexcept { return transport_.Get(); }

  // -- for the observer --
  [[nodiscard]] const Addresses& addresses() const noexcept { return addresses_; }
  [[nodiscard]] const core::Dispatcher& dispatcher() const noexcept { return *dispatcher_; }
  [[nodiscard]] const Events& events() const noexcept { return publishing_.events(); }
  [[nodiscard]] const Groups& groups() const noexcept { return groups_; }
  [[nodiscard]] const Applications& applications() const noexcept { return applications_; }
  [[nodiscard]] const Inspection& inspection() const noexcept { return inspection_; }
  [[nodiscard]] Latency* latency() const noexcept { return latency_.get(); }
  [[nodiscard]] const UserMetrics& user_metrics() const noexcept { return user_metrics_; }
  [[nodiscard]] ExitSignals& exit_signals() noexcept { return exit_signals_; }
  [[nodiscard]] bool IsStopping() const noexcept { return population_.RefusesOutsiders(); }
  [[nodiscard]] gen::NodeInfo Info() const;

 private:
  friend class Node;

  Runtime(gen::Atom name, const gen::NodeOptions& options,
          std::shared_ptr<core::Dispatcher> dispatcher, MakeNode make_node);

  [[nodiscard]] Rooms RoomsWith(core::Dispatcher& dispatcher);
  // The steps of Start.
  gen::Result<void> StartThreads();
  gen::Result<void> ListenToSignals();
  gen::Result<void> OpenTransport(const gen::Network& network);

  // In the order in which the parts need each other; threads last.
  const std::unique_ptr<gen::Node> node_;
  const gen::NodeOptions options_;
  const std::unique_ptr<Latency> latency_ =  // null: nothing is measured
      options_.measure_latency ? std::make_unique<Latency>() : nullptr;
  const std::shared_ptr<core::Clock> clock_ =
      options_.clock != nullptr ? options_.clock : std::make_shared<core::SteadyClock>();
  const std::int64_t started_at_ = clock_->Now();
  const std::shared_ptr<core::TimerQueue> timers_ =
      options_.timers != nullptr ? options_.timers : std::make_shared<core::TimerQueue>(*clock_);
  const WallClock wall_clock_{options_.wall_clock, options_.clock.get()};
  const ForkGuard fork_guard_;
  NodeLog log_;
  ProcessTable table_;
  Addresses addresses_;
  UserMetrics user_metrics_{addresses_, fork_guard_};
  Descriptions descriptions_{addresses_, *clock_};
  PendingCalls pending_calls_{
      *timers_, [this](const CallEdge::View& call) { return descriptions_.TimeoutError(call); }};
  CallEdges call_edges_{addresses_, pending_calls_};
  RequestClaims request_claims_{addresses_, pending_calls_, *clock_};
  WithdrawnRequests withdrawn_;
  Drops drops_{addresses_, *clock_, started_at_, options_.drops_remembered};
  MessageTotals totals_;
  Ticks ticks_;
  Delivery delivery_{{.addresses = addresses_,
                      .pending_calls = pending_calls_,
                      .call_edges = call_edges_,
                      .withdrawn = withdrawn_,
                      .drops = drops_,
                      .totals = totals_,
                      .ticks = ticks_,
                      .timers = *timers_,
                      .measuring_clock = latency_ != nullptr ? clock_.get() : nullptr}};
  BackPressure back_pressure_{addresses_, delivery_};
  ExitSignals exit_signals_{addresses_, delivery_};
  Relations relations_{addresses_, delivery_, exit_signals_};
  Registry registry_{addresses_, relations_};
  Publishing publishing_{{.addresses = addresses_,
                          .delivery = delivery_,
                          .exit_signals = exit_signals_,
                          .drops = drops_,
                          .totals = totals_,
                          .clock = *clock_}};
  Groups groups_{addresses_, delivery_};
  DelayedSends delayed_sends_{addresses_, delivery_, totals_, *timers_, *clock_};
  PeriodicSends periodic_sends_{{.addresses = addresses_,
                                 .delivery = delivery_,
                                 .totals = totals_,
                                 .ticks = ticks_,
                                 .timers = *timers_,
                                 .clock = *clock_,
                                 .log = log_}};
  WaitGraph wait_graph_{addresses_, delivery_, withdrawn_, *clock_};
  Inspection inspection_{addresses_, drops_, totals_, *clock_, log_};
  PoolSettings pool_settings_{options_.pools};
  Changes changes_{{.addresses = addresses_,
                    .back_pressure = back_pressure_,
                    .log = log_,
                    .options = options_,
                    .pool_settings = pool_settings_,
                    .behavior_levels = behavior_levels_,
                    .spawning = spawning_,
                    .environment = environment_,
                    .transport = transport_}};
  Dump dump_{addresses_, *clock_};
  NodeEnvironment environment_{options_.environment};
  Lineage lineage_{addresses_, environment_};
  Recorder recorder_;
  const Rooms rooms_;                                   // references, also to what follows
  const std::shared_ptr<core::Dispatcher> dispatcher_;  // its threads use the parts above
  DedicatedDispatchers dedicated_dispatchers_;          // theirs too
  BlockingThreads blocking_threads_{dedicated_dispatchers_, options_.blocking_threads};
  Population population_{addresses_, delivery_, *dispatcher_, dedicated_dispatchers_};
  BehaviorLevels behavior_levels_{options_.log_levels, population_.gate()};
  Spawning spawning_{{.addresses = addresses_,
                      .pending_calls = pending_calls_,
                      .relations = relations_,
                      .registry = registry_,
                      .exit_signals = exit_signals_,
                      .population = population_,
                      .behavior_levels = behavior_levels_,
                      .clock = *clock_}};
  Cron cron_{{.addresses = addresses_,
              .delivery = delivery_,
              .spawning = spawning_,
              .timers = *timers_,
              .clock = *clock_,
              .wall_clock = wall_clock_,
              .log = log_,
              .io = io_}};
  Applications applications_{*node_, population_};
  OutsideCalls outside_calls_{{.addresses = addresses_,
                               .delivery = delivery_,
                               .back_pressure = back_pressure_,
                               .spawning = spawning_,
                               .pending_calls = pending_calls_,
                               .totals = totals_,
                               .dispatcher = *dispatcher_,
                               .clock = *clock_,
                               .fork_guard = fork_guard_}};
  std::unique_ptr<Watchdog> watchdog_;  // null: nothing is watched
  std::unique_ptr<IoThread> io_;        // null with the owner's own clock
  OpenedTransport transport_;
  Shutdown shutdown_{{.addresses = addresses_,
                      .pending_calls = pending_calls_,
                      .exit_signals = exit_signals_,
                      .population = population_,
                      .applications = applications_,
                      .dispatcher = *dispatcher_,
                      .dedicated_dispatchers = dedicated_dispatchers_,
                      .timers = *timers_,
                      .clock = *clock_,
                      .options = options_,
                      .fork_guard = fork_guard_,
                      .log = log_,
                      .transport = transport_,
                      .end_recording = [this] { recorder_.End(); },
                      .write_dump = [this] { node_->Dump(std::cerr); }}};
  const DebuggerView debugger_view_{addresses_};
};

// Returns the runtime behind a node, be it the owner's or that of its processes. Throws std::logic_error, which names
// the function, if the node was not made by node::Start.
[[nodiscard]] Runtime& RuntimeOf(gen::Node& node, const char* function);

}  // namespace ergon::node
