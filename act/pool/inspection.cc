#include <ergon/act/pool/inspection.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/inspection_items.h>

namespace ergon::act {
namespace {

PoolStats::WorkerState StateOf(const PoolFigures::Worker& worker) {
  switch (worker.member.state) {
    case MemberState::kStarting:
      return PoolStats::WorkerState::kStarting;
    case MemberState::kVacant:
      return PoolStats::WorkerState::kVacant;
    case MemberState::kReady:
      break;
  }
  return worker.progress.busy ? PoolStats::WorkerState::kBusy : PoolStats::WorkerState::kIdle;
}

std::string_view TextOf(PoolStats::WorkerState state) {
  switch (state) {
    case PoolStats::WorkerState::kStarting:
      return "starting";
    case PoolStats::WorkerState::kVacant:
      return "waiting for a replacement";
    case PoolStats::WorkerState::kBusy:
      return "busy";
    case PoolStats::WorkerState::kIdle:
      break;
  }
  return "idle";
}

std::string DescribeWorker(const PoolStats::Worker& worker) {
  return fmt::format("{} queued={} handled={} {}", worker.pid ? worker.pid.ToString() : "nobody",
                     worker.queued, worker.handled, TextOf(worker.state));
}

bool TakesMessages(const PoolFigures::Worker& worker) {
  return worker.member.state == MemberState::kReady && !worker.member.leaving;
}

std::int64_t PaceOf(const PoolFigures::Worker& worker) {
  const gen::WorkerProgress& progress = worker.progress;
  return progress.pace.count() != 0 ? progress.pace.count() : progress.mean_handling.count();
}

// At a worker a message waits for those before it there; at the pool for all before it, of which each worker takes its
// part.
std::chrono::microseconds WaitEstimate(const PoolFigures& figures) {
  double wait = 0;
  double takers = 0;
  for (const PoolFigures::Worker& worker : figures.workers) {
    if (!TakesMessages(worker)) continue;
    ++takers;
    const std::int64_t own = PaceOf(worker);
    wait += static_cast<double>(worker.progress.queued) *
            static_cast<double>(own != 0 ? own : figures.pace);
  }
  wait += static_cast<double>(figures.queued_at_pool) * static_cast<double>(figures.pace);
  return std::chrono::microseconds(static_cast<std::int64_t>(wait / std::max(takers, 1.0) / 1000));
}

}  // namespace

std::vector<PoolFigures::Worker> ObserveWorkers(const gen::PoolHost& host, PoolMembers& members) {
  std::vector<PoolFigures::Worker> workers;
  workers.reserve(members.all().size());
  for (auto& [number, member] : members.all()) {
    gen::WorkerProgress progress;
    if (member.worker) {
      progress = host.Progress(member.worker);
      // The order to end is the last in its mailbox, and not a message. A pool takes it before its workers are done.
      if (member.drains && progress.has_mail) --progress.queued;
      member.handled_seen = std::max(member.handled_seen, progress.handled);
      progress.handled = member.handled_seen;
      member.expired_seen = std::max(member.expired_seen, progress.expired);
      progress.expired = member.expired_seen;
      // Not idle before the others have what it left behind.
      progress.busy = progress.busy || progress.ended;
    }
    workers.push_back({member, progress});
  }
  return workers;
}

std::uint64_t CountForwarded(const PoolCounters& counters,
                             const std::vector<PoolFigures::Worker>& workers) {
  std::uint64_t count = counters.handled + counters.Lost();
  for (const PoolFigures::Worker& worker : workers) {
    const gen::WorkerProgress& progress = worker.progress;
    count += progress.handled + progress.queued + (progress.current ? 1 : 0);
  }
  return count;
}

std::uint64_t CountHandled(const PoolCounters& counters,
                           const std::vector<PoolFigures::Worker>& workers) {
  std::uint64_t count = counters.handled;
  for (const PoolFigures::Worker& worker : workers) count += worker.progress.handled;
  return count;
}

std::int64_t MeanPace(const std::vector<PoolFigures::Worker>& workers, std::int64_t of_pool) {
  // One that is a pool is done with a message when it has passed it on: how long that takes says nothing.
  const bool is_of_handling = std::none_of(
      workers.begin(), workers.end(), [](const auto& worker) { return worker.progress.passes_on; });
  if (of_pool != 0 && is_of_handling) return of_pool;
  std::int64_t sum = 0;
  std::int64_t known = 0;
  for (const PoolFigures::Worker& worker : workers) {
    const std::int64_t pace = TakesMessages(worker) ? PaceOf(worker) : 0;
    sum += pace;
    known += pace == 0 ? 0 : 1;
  }
  return known == 0 ? of_pool : sum / known;
}

std::int64_t LongestNow(const std::vector<PoolFigures::Worker>& workers) {
  constexpr std::int64_t kLeast = 1'000'000;  // ns: a step of the clock
  std::int64_t longest = 0;
  for (const PoolFigures::Worker& worker : workers) {
    if (worker.progress.busy) longest = std::max({longest, worker.progress.lasted.count(), kLeast});
  }
  return longest;
}

PoolStats MakePoolStats(const PoolFigures& figures) {
  const PoolCounters& counters = figures.counters;
  PoolStats stats{.worker_behavior = figures.worker_behavior,
                  .strategy = figures.strategy,
                  .worker_mailbox_size = static_cast<std::uint64_t>(figures.worker_mailbox_size),
                  .stopping = figures.stopping,
                  .worker_restarts = counters.restarts,
                  .forwarded = figures.forwarded,
                  .unhandled = figures.unhandled,
                  .overloaded = figures.overloaded,
                  .queued = figures.queued_at_pool,
                  .handled = figures.handled,
                  .expired = figures.expired + counters.expired,
                  .salvaged = counters.salvaged,
                  .drained = counters.drained,
                  .lost_crashed = counters.lost_crashed,
                  .lost_full = counters.lost_full,
                  .lost_missed = counters.lost_missed,
                  .lost_failed = counters.lost_failed,
                  .lost_terminated = counters.lost_terminated};
  for (const PoolFigures::Worker& worker : figures.workers) {
    stats.queued += worker.progress.queued;
    stats.expired += worker.progress.expired;
    if (worker.member.leaving && !worker.member.dismissed) {
      ++stats.leaving;
      continue;
    }
    if (worker.progress.busy) ++stats.busy;
    ++(worker.member.state == MemberState::kReady ? stats.ready : stats.starting);
    stats.workers.push_back(
        {worker.member.worker, StateOf(worker), worker.progress.queued, worker.progress.handled});
  }
  stats.size = stats.workers.size();
  stats.queue_wait_estimate = WaitEstimate(figures);
  return stats;
}

gen::Inspection InspectPool(const PoolFigures& figures, gen::Inspection added,
                            const std::vector<std::string>& items) {
  gen::Inspection all = std::move(added);
  const auto put = [&all](std::string key, const auto& value) {
    all.insert_or_assign(std::move(key), fmt::format("{}", value));
  };

  const PoolStats stats = MakePoolStats(figures);
  for (std::size_t i = 0; i < stats.workers.size(); ++i) {
    put(fmt::format("worker.{}", i + 1), DescribeWorker(stats.workers[i]));
  }
  put("pool_size", stats.size);
  put("worker_behavior", stats.worker_behavior);
  put("strategy", stats.strategy);
  put("worker_mailbox_size", stats.worker_mailbox_size);
  put("worker_restarts", stats.worker_restarts);
  put("messages_forwarded", stats.forwarded);
  put("messages_unhandled", stats.unhandled);
  put("workers_ready", stats.ready);
  put("workers_busy", stats.busy);
  put("workers_starting", stats.starting);
  put("workers_leaving", stats.leaving);
  put("messages_queued", stats.queued);
  put("messages_handled", stats.handled);
  put("messages_expired", stats.expired);
  put("messages_overloaded", stats.overloaded);
  put("messages_salvaged", stats.salvaged);
  put("messages_drained", stats.drained);
  put("messages_lost", stats.Lost());
  put("messages_lost_crashed", stats.lost_crashed);
  put("messages_lost_full", stats.lost_full);
  put("messages_lost_missed", stats.lost_missed);
  put("messages_lost_failed", stats.lost_failed);
  put("messages_lost_terminated", stats.lost_terminated);
  put("queue_wait_estimate_us", stats.queue_wait_estimate.count());
  put("state", stats.stopping ? "stopping" : "running");

  gen::KeepAskedFor(all, items);
  return all;
}

}  // namespace ergon::act
