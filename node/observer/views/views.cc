#include <ergon/node/observer/views/views.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <ergon/node/texts/json_writer.h>

namespace ergon::node {
namespace {

constexpr std::size_t kMostItems = 200;  // of an inspection

// The N of the item "worker.N" of a pool; std::nullopt: it is another item.
std::optional<std::size_t> WorkerIn(std::string_view key) {
  constexpr std::string_view kPrefix = "worker.";
  if (!key.starts_with(kPrefix)) return std::nullopt;
  std::size_t number = 0;
  const char* const end = key.data() + key.size();
  const auto read = std::from_chars(key.data() + kPrefix.size(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// Of very many items those of a pool's workers are left out first, the last workers before the others: /api/pools has
// up to 1,000 of the workers, too, and nothing else has the rest.
void PutItems(JsonWriter& json, const gen::Inspection& inspection) {
  const auto is_worker = [](const auto& item) { return WorkerIn(item.first).has_value(); };
  const auto workers = static_cast<std::size_t>(std::ranges::count_if(inspection, is_worker));
  const std::size_t most_others = std::min(inspection.size() - workers, kMostItems);
  const bool has_room = inspection.size() <= kMostItems;
  std::size_t others = 0;
  for (const auto& [key, value] : inspection) {
    const auto worker = WorkerIn(key);
    const bool is_first = worker ? *worker <= kMostItems - most_others : ++others <= most_others;
    if (has_room || is_first) json.PutAny(key, value);
  }
}

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

void PutMessages(JsonWriter& json, const Figures& figures) {
  const gen::MessageBalance& messages = figures.messages;
  json.Begin("messages");
  json.Put("accepted", messages.accepted);
  json.Put("handled", messages.handled);
  json.Put("queued", messages.queued);
  json.Put("held", messages.held);
  json.Put("sent_to_nodes", messages.sent_to_nodes);
  json.Put("unaccounted", figures.unaccounted);
  json.Begin("dropped");
  json.Put("terminated", messages.dropped_terminated);
  json.Put("unknown", messages.dropped_unknown);
  json.Put("mailbox_full", messages.dropped_mailbox_full);
  json.Put("expired", messages.dropped_expired);
  json.Put("no_connection", messages.dropped_no_connection);
  json.Put("unreadable", messages.dropped_unreadable);
  json.Put("failed", messages.dropped_failed);
  json.End();
  json.End();
}

void PutDispatcher(JsonWriter& json, const Figures& figures) {
  json.Begin("dispatcher");
  json.Put("policy", std::string_view(figures.node.dispatcher));
  json.Put("workers", figures.node.workers);
  json.Put("ready", figures.node.ready);
  json.Put("turns", figures.dispatcher.turns);
  json.Put("steals", figures.dispatcher.steals);
  json.Put("parks", figures.dispatcher.parks);
  json.Put("wakeups", figures.dispatcher.wakeups);
  json.End();
}

void PutProcesses(JsonWriter& json, const Figures& figures) {
  json.Begin("processes");
  json.Put("alive", figures.node.processes);
  json.Put("spawned", figures.node.processes_spawned);
  json.Put("ended", figures.node.processes_ended);
  json.Put("failed", figures.node.processes_failed);
  json.End();
  json.Begin("states");
  for (std::size_t i = 0; i < figures.census.states.size(); ++i) {
    const std::string_view state = ToString(static_cast<gen::ProcessState>(i));
    json.Put(std::string(state).c_str(), figures.census.states[i]);
  }
  json.End();
  json.PutList("behaviors", figures.census.behaviors, [&](const BehaviorFigures& behavior) {
    json.Put("behavior", std::string_view(behavior.behavior));
    json.Put("processes", behavior.processes);
    json.Put("queued", behavior.queued);
    json.Put("longest", behavior.longest);
    json.Put("held", behavior.held);
  });
}

void PutSurroundings(JsonWriter& json, const Figures& figures) {
  json.PutList("applications", figures.applications, [&](const auto& application) {
    json.Put("name", std::string_view(application.first));
    json.Put("runs", application.second);
  });
  json.Begin("connections");
  json.Put("up", figures.connections.up);
  json.Put("pending", figures.connections.pending);
  json.Put("queued_bytes", figures.connections.queued_bytes);
  json.Put("waiting_senders", figures.connections.waiting_senders);
  json.End();
  json.Begin("program");
  json.PutIfKnown("resident_bytes", figures.program.resident_bytes);
  json.Put("processor_seconds", figures.program.processor_seconds);
  json.PutIfKnown("threads", figures.program.threads);
  json.PutIfKnown("open_descriptors", figures.program.open_descriptors);
  json.End();
}

void PutPool(JsonWriter& json, const PoolView& pool) {
  json.PutPid(pool.pid);
  json.Put("label", std::string_view(pool.label));
  json.Put("workers", pool.figures.workers);
  json.Put("ready", pool.figures.ready);
  json.Put("busy", pool.figures.busy);
  json.Put("starting", pool.figures.starting);
  json.Put("leaving", pool.figures.leaving);
  json.Put("queued", pool.figures.queued);
  json.Put("restarts", pool.figures.restarts);
  json.Put("forwarded", pool.figures.forwarded);
  json.Put("handled", pool.figures.handled);
  json.Put("refused", pool.figures.refused);
  json.Put("lost", pool.figures.lost);
  json.PutList("members", pool.members, [&](const PoolView::Member& member) {
    json.PutPid(member.pid);
    json.Put("state", ToString(member.state));
    json.Put("queued", member.queued);
    json.Put("handled", member.handled);
    json.Put("busy", member.is_busy);
  });
}

}  // namespace

std::string NodeJson(const Figures& figures, bool actions) {
  JsonWriter json;
  json.Put("node", figures.node.name);
  json.Put("creation", figures.node.creation);
  json.Put("actions", actions);
  json.Put("uptime_seconds", Seconds(figures.node.uptime));
  json.Put("timers", figures.node.timers);
  json.Put("names", figures.node.names);
  PutDispatcher(json, figures);
  PutMessages(json, figures);
  PutProcesses(json, figures);
  PutSurroundings(json, figures);
  json.PutList("long_turns", figures.node.busy, [&](const gen::BusyProcess& busy) {
    json.PutPid(busy.pid);
    json.Put("behavior", std::string_view(busy.behavior));
    json.Put("message", std::string_view(busy.message));
    json.Put("seconds", Seconds(busy.running_for));
  });
  return json.Take();
}

std::string PoolsJson(const Figures& figures) {
  JsonWriter json;
  json.Put("in_all", figures.census.pools_in_all);
  json.Put("unanswered", figures.pools_unanswered);
  json.PutList("pools", figures.pool_views, [&](const PoolView& pool) { PutPool(json, pool); });
  return json.Take();
}

std::string ProcessesJson(const ProcessRows& processes) {
  JsonWriter json;
  json.Put("in_all", processes.in_all);
  json.Put("matching", processes.matching);
  json.PutList("processes", processes.rows, [&](const ProcessRow& row) {
    json.PutPid(row.pid);
    json.Put("name", row.name);
    json.Put("behavior", std::string_view(row.behavior));
    json.Put("state", ToString(row.state));
    json.Put("suspended", row.suspended);
    json.Put("queued", row.queued);
    json.Put("high", row.high);
    json.Put("held", row.held);
    json.Put("handled", row.handled);
    json.Put("sent", row.sent);
    json.Put("running_seconds", static_cast<double>(row.running_ns) * 1e-9);
    json.Put("handles", std::string_view(row.handles));
    json.Put("waits_for", std::string_view(row.waits_for ? row.waits_for.ToString() : ""));
  });
  return json.Take();
}

std::string ProcessJson(const gen::ProcessInfo& info, const Inspection::Links& links,
                        const gen::Result<gen::Inspection>& inspection) {
  JsonWriter json;
  json.PutPid(info.pid);
  json.Put("name", info.name);
  json.Put("behavior", std::string_view(info.behavior));
  json.Put("state", ToString(info.state));
  json.Put("handles", std::string_view(info.handles));
  json.Put("application", info.application);
  json.Put("mailbox", std::string_view(info.mailbox));
  json.Put("queued", info.messages_queued);
  json.Put("handled", info.messages_handled);
  json.Put("sent", info.messages_sent);
  json.Put("held", info.messages_held);
  json.Put("dropped", info.messages_dropped);
  json.Put("overflowed", info.messages_overflowed);
  json.Put("uptime_seconds", Seconds(info.uptime));
  json.Put("running_seconds", Seconds(info.running_time));
  json.Put("suspended", info.suspended);
  json.Put("trap_exit", info.trap_exit);
  json.Put("detached", info.detached);
  json.Put("links_in_all", links.in_all);
  json.PutPids("parent", {info.parent}, 1);
  json.PutPids("links", links.first, kMostRelations);
  json.PutPids("monitors", info.monitors, kMostRelations);
  json.PutPids("monitored_by", info.monitored_by, kMostRelations);
  json.Put("inspection_in_all", inspection ? inspection->size() : 0);
  json.Begin("inspection");
  if (inspection) {
    PutItems(json, *inspection);
  } else {
    json.PutAny("error", inspection.error().ToString());
  }
  json.End();
  return json.Take();
}

}  // namespace ergon::node
