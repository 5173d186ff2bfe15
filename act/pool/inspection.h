// What a pool answers to Inspect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ergon/act/pool/counters.h>
#include <ergon/act/pool/members.h>
#include <ergon/act/pool_stats.h>
#include <ergon/gen/host/pool_host.h>
#include <ergon/gen/messenger.h>

namespace ergon::act {

// Everything that the keys are made of; see Pool for their meaning.
struct PoolFigures {
  std::string worker_behavior;
  std::string strategy;
  int worker_mailbox_size = 0;
  bool stopping = false;
  std::int64_t pace = 0;  // ns from one message of a worker to the next, in the mean; 0: not known
  std::uint64_t forwarded = 0;
  std::uint64_t unhandled = 0;
  std::uint64_t queued_at_pool = 0;  // held, and in its mailbox
  std::uint64_t expired = 0;         // requests skipped by the pool
  std::uint64_t overloaded = 0;
  PoolCounters counters;
  std::uint64_t handled = 0;

  struct Worker {
    PoolMember member;
    gen::WorkerProgress progress;  // zero if there is no process
  };
  std::vector<Worker> workers;  // those that leave, too; the oldest member first
};

// A look at the workers from outside. Remembers what it saw, so that totals do not go down while
// the notice of a worker's end is on its way.
[[nodiscard]] std::vector<PoolFigures::Worker> ObserveWorkers(const gen::PoolHost& host,
                                                              PoolMembers& members);

// Messages that were accepted for workers, as far as it shows at these. Exact at rest, else too
// few.
[[nodiscard]] std::uint64_t CountForwarded(const PoolCounters& counters,
                                           const std::vector<PoolFigures::Worker>& workers);

// Messages that workers have handled, or skipped because their time was up, as far as it shows at these.
[[nodiscard]] std::uint64_t CountHandled(const PoolCounters& counters,
                                         const std::vector<PoolFigures::Worker>& workers);

// From one message of a worker to the next, in the mean, ns; 0: not known. `of_pool`: as the pool has seen it that
// gives them their messages; 0: it does not.
[[nodiscard]] std::int64_t MeanPace(const std::vector<PoolFigures::Worker>& workers,
                                    std::int64_t of_pool);
// How long the longest has lasted of what they handle now, ns.
[[nodiscard]] std::int64_t LongestNow(const std::vector<PoolFigures::Worker>& workers);

// The sums over all workers, and what each of them does.
[[nodiscard]] PoolStats MakePoolStats(const PoolFigures& figures);

// The pool's keys, together with `added`, of which the pool's own keys win. With `items` only those
// keys that they ask for (gen::IsAskedFor); "worker" stands for all that begin with "worker.".
[[nodiscard]] gen::Inspection InspectPool(const PoolFigures& figures, gen::Inspection added,
                                          const std::vector<std::string>& items);

}  // namespace ergon::act
