#include <ergon/node/observer/numbers/metrics.h>

#include <chrono>
#include <string_view>
#include <utility>

#include <ergon/node/observer/numbers/latency_text.h>
#include <ergon/node/observer/numbers/user_metrics_text.h>
#include <ergon/node/texts/clean_text.h>

namespace ergon::node {
namespace {

void WriteNode(MetricsWriter& out, const gen::NodeInfo& node) {
  out.Info("ergon_node", "The node.");
  out.Sample(1, {{"node", LabelValue(node.name.ToString())},
                 {"creation", std::to_string(node.creation)},
                 {"dispatcher", node.dispatcher}});
  out.Gauge("ergon_uptime_seconds", "Time since the node's start.", "seconds");
  out.Sample(std::chrono::duration<double>(node.uptime).count());
  out.Gauge("ergon_processes", "Processes that are alive.");
  out.Sample(node.processes);
  out.Counter("ergon_processes_spawned", "Processes that were spawned.");
  out.Sample(node.processes_spawned);
  out.Counter("ergon_processes_ended", "Processes that have ended.");
  out.Sample(node.processes_ended);
  out.Counter("ergon_processes_failed", "Processes that have ended with a failure.");
  out.Sample(node.processes_failed);
  out.Gauge("ergon_names", "Registered names.");
  out.Sample(node.names);
  out.Gauge("ergon_aliases", "Aliases of processes.");
  out.Sample(node.aliases);
  out.Gauge("ergon_timers", "Armed timers.");
  out.Sample(node.timers);
  out.Counter("ergon_blocking_lent", "Blocking stretches of handlers that got a thread.");
  out.Sample(node.blocking_lent);
  out.Counter("ergon_blocking_refused", "Blocking stretches that held up a worker.");
  out.Sample(node.blocking_refused);
  out.Counter("ergon_log_lines_left_out", "Log lines that NodeOptions::log_burst has left out.");
  out.Sample(node.log_lines_left_out);
  out.Gauge("ergon_long_turns", "Turns that last longer than the watchdog allows.");
  out.Sample(node.busy.size());
}

void WriteDispatcher(MetricsWriter& out, const gen::NodeInfo& node,
                     const core::DispatcherStats& stats) {
  out.Gauge("ergon_dispatcher_workers", "Threads that run processes.");
  out.Sample(node.workers);
  out.Gauge("ergon_dispatcher_ready_processes", "Processes that wait for a worker.");
  out.Sample(node.ready);
  out.Counter("ergon_dispatcher_turns", "Turns of processes.");
  out.Sample(stats.turns);
  out.Counter("ergon_dispatcher_steals", "Times that a worker took work from another one.");
  out.Sample(stats.steals);
  out.Counter("ergon_dispatcher_parks", "Turns that ended with a suspended handler.");
  out.Sample(stats.parks);
  out.Counter("ergon_dispatcher_wakeups", "Times that a sleeping worker came back.");
  out.Sample(stats.wakeups);
}

void WriteMessages(MetricsWriter& out, const Figures& figures) {
  const gen::MessageBalance& messages = figures.messages;
  out.Counter(
      "ergon_messages_accepted",
      "Messages that were accepted: at rest the sum of those handled, dropped, queued, held "
      "and sent to nodes, less those lost with a connection, which are among the sent and "
      "among the dropped, as no_connection. See ergon_messages_unaccounted.");
  out.Sample(messages.accepted);
  out.Counter("ergon_messages_handled", "Messages for which a handler was called.");
  out.Sample(messages.handled);
  out.Counter("ergon_messages_dropped", "Accepted messages that no handler was called for.");
  out.Sample(messages.dropped_terminated, {{"reason", "terminated"}});
  out.Sample(messages.dropped_unknown, {{"reason", "unknown"}});
  out.Sample(messages.dropped_mailbox_full, {{"reason", "mailbox_full"}});
  out.Sample(messages.dropped_expired, {{"reason", "expired"}});
  out.Sample(messages.dropped_no_connection, {{"reason", "no_connection"}});
  out.Sample(messages.dropped_unreadable, {{"reason", "unreadable"}});
  out.Sample(messages.dropped_failed, {{"reason", "failed"}});
  // Not MessageBalance::sent_to_nodes, which is less again when a connection is lost: Prometheus would take that for a
  // restart.
  out.Counter("ergon_messages_sent_to_nodes",
              "Messages given to connections with other nodes; those lost with one are among the "
              "dropped, too.");
  out.Sample(figures.given_to_nodes);
  out.Gauge("ergon_messages_queued", "Messages in mailboxes.");
  out.Sample(messages.queued);
  out.Gauge("ergon_messages_held", "Messages stashed, or kept to be passed on.");
  out.Sample(messages.held);
  out.Gauge("ergon_messages_unaccounted",
            "Accepted messages that the others do not account for: "
            "0 at rest.");
  out.Sample(figures.unaccounted);
  out.Counter("ergon_drops_not_remembered", "Dropped messages that were counted only.");
  out.Sample(figures.node.drops_not_remembered);
}

void WriteBehaviors(MetricsWriter& out, const CensusFigures& census) {
  out.Gauge("ergon_processes_in_state", "Processes by what they do.");
  for (std::size_t i = 0; i < census.states.size(); ++i) {
    out.Sample(census.states[i], {{"state", ToString(static_cast<gen::ProcessState>(i))}});
  }
  struct Family {
    std::string_view name;
    std::string_view help;
    std::uint64_t BehaviorFigures::*figure;
  };
  constexpr Family kFamilies[] = {
      {"ergon_behavior_processes", "Processes by behaviour.", &BehaviorFigures::processes},
      {"ergon_mailbox_messages",
       "Messages in mailboxes, by behaviour; of each mailbox modulo 4,194,304.",
       &BehaviorFigures::queued},
      {"ergon_mailbox_longest_messages",
       "Messages in the fullest mailbox of a behaviour; of each mailbox modulo 4,194,304.",
       &BehaviorFigures::longest},
      {"ergon_mailbox_held_messages", "Messages stashed or kept, by behaviour.",
       &BehaviorFigures::held}};
  for (const Family& family : kFamilies) {
    out.Gauge(family.name, family.help);
    for (const BehaviorFigures& behavior : census.behaviors) {
      out.Sample(behavior.*family.figure, {{"behavior", behavior.behavior}});
    }
  }
}

struct PoolFamily {
  std::string_view name;
  bool is_counter;
  std::string_view help;
  std::uint64_t PoolFigures::*figure;
};
constexpr PoolFamily kPoolFamilies[] = {
    {"ergon_pool_workers", false, "Workers, with those being replaced.", &PoolFigures::workers},
    {"ergon_pool_workers_ready", false, "Workers that take messages.", &PoolFigures::ready},
    {"ergon_pool_workers_busy", false,
     "Of the ergon_pool_workers those in a handler or in Init, or about to be.",
     &PoolFigures::busy},
    {"ergon_pool_workers_starting", false, "Workers being replaced.", &PoolFigures::starting},
    {"ergon_pool_workers_leaving", false,
     "Workers that were taken out and handle what they have: none of the ergon_pool_workers.",
     &PoolFigures::leaving},
    {"ergon_pool_messages_queued", false, "Messages that wait at workers and pool.",
     &PoolFigures::queued},
    {"ergon_pool_worker_restarts", true, "Replacements of workers.", &PoolFigures::restarts},
    {"ergon_pool_messages_forwarded", true, "Messages accepted for workers.",
     &PoolFigures::forwarded},
    {"ergon_pool_messages_handled", true, "Messages handled by workers.", &PoolFigures::handled},
    {"ergon_pool_messages_refused", true, "Messages refused or dropped.", &PoolFigures::refused},
    {"ergon_pool_messages_overloaded", true, "Of those refused, for the limit of admission.",
     &PoolFigures::overloaded},
    {"ergon_pool_messages_expired", true, "Requests whose caller had stopped waiting.",
     &PoolFigures::expired},
    {"ergon_pool_messages_lost", true, "Messages accepted and not handled.", &PoolFigures::lost}};

void WritePools(MetricsWriter& out, const Figures& figures) {
  out.Gauge("ergon_pools", "Pools.");
  out.Sample(figures.census.pools_in_all);
  out.Gauge("ergon_pools_not_asked", "Pools without numbers here, as there are too many.");
  out.Sample(figures.census.pools_in_all - figures.census.pools.size());
  out.Gauge("ergon_pools_unanswered", "Pools that did not answer in time; their numbers are old.");
  out.Sample(figures.pools_unanswered);
  for (const PoolFamily& family : kPoolFamilies) {
    family.is_counter ? out.Counter(family.name, family.help) : out.Gauge(family.name, family.help);
    for (const auto& [label, pool] : figures.pools) {
      out.Sample(pool.*family.figure, {{"pool", label}});
    }
  }
}

void WriteSurroundings(MetricsWriter& out, const Figures& figures) {
  out.Gauge("ergon_application_running", "1 while the application runs.");
  for (const auto& [name, runs] : figures.applications) {
    out.Sample(runs ? 1 : 0, {{"application", name}});
  }
  const ConnectionFigures& connections = figures.connections;
  out.Gauge("ergon_connections", "Connections with other nodes.");
  out.Sample(connections.up, {{"state", "up"}});
  out.Sample(connections.pending, {{"state", "pending"}});
  out.Gauge("ergon_connections_queued_bytes", "Bytes that wait to be sent to other nodes.",
            "bytes");
  out.Sample(connections.queued_bytes);
  out.Gauge("ergon_connections_waiting_senders", "Processes that wait for room there.");
  out.Sample(connections.waiting_senders);
}

// A number that is not known, 0, has no sample: for example without a descriptor to read it.
template <class T>
void SampleIfKnown(MetricsWriter& out, T value) {
  if (value != 0) out.Sample(value);
}

void WriteProgram(MetricsWriter& out, const ProgramFigures& program) {
  out.Counter("process_cpu_seconds", "Time of processors that the program has taken.", "seconds");
  out.Sample(program.processor_seconds);
  out.Gauge("process_start_time_seconds", "Start of the program since the year 1970.", "seconds");
  SampleIfKnown(out, program.started_at);
  out.Gauge("process_resident_memory_bytes", "Memory that the program has.", "bytes");
  SampleIfKnown(out, program.resident_bytes);
  out.Gauge("process_virtual_memory_bytes", "Memory that the program may use.", "bytes");
  SampleIfKnown(out, program.virtual_bytes);
  out.Gauge("process_threads", "Threads of the program.");
  SampleIfKnown(out, program.threads);
  out.Gauge("process_open_fds", "Open file descriptors.");
  SampleIfKnown(out, program.open_descriptors);
  out.Gauge("process_max_fds", "File descriptors that may be open.");
  SampleIfKnown(out, program.most_descriptors);
}

void WriteObserver(MetricsWriter& out, const Figures& figures, const ObserverFigures& observer) {
  out.Gauge("ergon_observer_connections", "Open connections of the observer.");
  out.Sample(observer.connections);
  out.Counter("ergon_observer_connections_displaced", "Connections that gave way to others.");
  out.Sample(observer.displaced);
  out.Counter("ergon_observer_answers", "Answers of the observer, by status.");
  for (unsigned status = 0; status < AnswerCounts::kStatuses; ++status) {
    const std::uint64_t count = observer.answers.Of(status);
    if (count != 0) out.Sample(count, {{"status", std::to_string(status)}});
  }
  out.Gauge("ergon_observer_collect_seconds", "Time to collect these numbers.", "seconds");
  out.Sample(figures.collect_seconds);
}

}  // namespace

std::string MetricsText(const Figures& figures, const ObserverFigures& observer,
                        MetricsFormat format) {
  MetricsWriter out(format);
  WriteNode(out, figures.node);
  WriteDispatcher(out, figures.node, figures.dispatcher);
  WriteMessages(out, figures);
  WriteBehaviors(out, figures.census);
  WritePools(out, figures);
  WriteSurroundings(out, figures);
  WriteProgram(out, figures.program);
  WriteObserver(out, figures, observer);
  if (figures.latency != nullptr) WriteLatency(out, *figures.latency);
  WriteUserMetrics(out, figures.user_metrics);
  return std::move(out).Take();
}

}  // namespace ergon::node
