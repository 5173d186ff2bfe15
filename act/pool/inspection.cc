#include <ergon/act/pool/inspection.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <ergon/act/shared/inspection_items.h>

namespace ergon::act {
namespace {

std::string_view Activity(const PoolFigures::Worker& worker) {
  switch (worker.member.state) {
    case MemberState::kStarting:
      return "starting";
    case MemberState::kVacant:
      return "waiting for a replacement";
    case MemberState::kReady:
      return worker.progress.busy ? "busy" : "idle";
  }
  return "unknown";
}

std::string DescribeWorker(const PoolFigures::Worker& worker) {
  return fmt::format("{} queued={} handled={} {}",
                     worker.member.worker ? worker.member.worker.ToString() : "nobody",
                     worker.progress.queued, worker.progress.handled, Activity(worker));
}

// By Little's law: in the long run, the time spent waiting is the number of those who wait divided
// by the rate at which they are served.
std::uint64_t WaitEstimate(std::uint64_t queued, std::uint64_t handled, std::int64_t uptime_ns) {
  if (queued == 0) return 0;
  const double rate = static_cast<double>(std::max<std::uint64_t>(handled, 1)) /
                      static_cast<double>(std::max<std::int64_t>(uptime_ns, 1));  // per ns
  return static_cast<std::uint64_t>(static_cast<double>(queued) / rate / 1000);
}

}  // namespace

std::vector<PoolFigures::Worker> ObserveWorkers(const gen::PoolHost& host, PoolMembers& members) {
  std::vector<PoolFigures::Worker> workers;
  workers.reserve(members.all().size());
  for (auto& [number, member] : members.all()) {
    gen::WorkerProgress progress;
    if (member.worker) {
      progress = host.Progress(member.worker);
      // The order to end is the last in its queue, and not a message.
      if (member.drains && progress.queued > 0) --progress.queued;
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

gen::Inspection InspectPool(const PoolFigures& figures, gen::Inspection added,
                            const std::vector<std::string>& items) {
  gen::Inspection all = std::move(added);
  const auto put = [&all](std::string key, const auto& value) {
    all.insert_or_assign(std::move(key), fmt::format("{}", value));
  };

  std::uint64_t members = 0;
  std::uint64_t ready = 0;
  std::uint64_t starting = 0;
  std::uint64_t busy = 0;
  std::uint64_t queued = figures.queued_at_pool;
  std::uint64_t expired = figures.expired + figures.counters.expired;
  for (const PoolFigures::Worker& worker : figures.workers) {
    queued += worker.progress.queued;
    expired += worker.progress.expired;
    if (worker.progress.busy) ++busy;
    if (worker.member.leaving && !worker.member.dismissed) continue;
    ++(worker.member.state == MemberState::kReady ? ready : starting);
    put(fmt::format("worker.{}", ++members), DescribeWorker(worker));
  }

  const PoolCounters& counters = figures.counters;
  put("pool_size", members);
  put("worker_behavior", figures.worker_behavior);
  put("strategy", figures.strategy);
  put("worker_mailbox_size", figures.worker_mailbox_size);
  put("worker_restarts", counters.restarts);
  put("messages_forwarded", figures.forwarded);
  put("messages_unhandled", figures.unhandled);
  put("workers_ready", ready);
  put("workers_busy", busy);
  put("workers_starting", starting);
  put("workers_leaving", figures.workers.size() - members);
  put("messages_queued", queued);
  put("messages_handled", figures.handled);
  put("messages_expired", expired);
  put("messages_overloaded", figures.overloaded);
  put("messages_salvaged", counters.salvaged);
  put("messages_drained", counters.drained);
  put("messages_lost", counters.Lost());
  put("messages_lost_crashed", counters.lost_crashed);
  put("messages_lost_full", counters.lost_full);
  put("messages_lost_missed", counters.lost_missed);
  put("messages_lost_terminated", counters.lost_terminated);
  put("queue_wait_estimate_us", WaitEstimate(queued, figures.handled, figures.uptime));
  put("state", figures.stopping ? "stopping" : "running");

  KeepAskedFor(all, items);
  return all;
}

}  // namespace ergon::act
