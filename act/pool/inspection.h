// The answer of a pool to Inspect.
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

// The figures that the keys are made of; see Pool for their meaning.
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
  std::vector<Worker> workers;  // including those that leave; the oldest member first
};

// Looks at the workers from outside. It notes what it saw in `members`, so that totals do not go down while
// the notice of a worker's end is on its way.
[[nodiscard]] std::vector<PoolFigures::Worker> ObserveWorkers(const gen::PoolHost& host,
                                                              PoolMembers& members);

// Returns how many messages were accepted for workers, as far as the workers show it. Exact at rest, else too
// few.
[[nodiscard]] std::uint64_t CountForwarded(const PoolCounters& counters,
                                           const std::vector<PoolFigures::Worker>& workers);

// Returns how many messages workers have handled, or skipped because their time was up, as far as the workers show
// it.
[[nodiscard]] std::uint64_t CountHandled(const PoolCounters& counters,
                                         const std::vector<PoolFigures::Worker>& workers);

// Returns the mean time from one message of a worker to the next, ns; 0: not known. `of_pool` is the same as measured
// by a pool that gives its workers their messages; 0 for other pools.
[[nodiscard]] std::int64_t MeanPace(const std::vector<PoolFigures::Worker>& workers,
                                    std::int64_t of_pool);
// Returns for how long the oldest of the messages that are being handled now has been handled, ns.
[[nodiscard]] std::int64_t LongestNow(const std::vector<PoolFigures::Worker>& workers);

// Returns the sums over all workers, and what each worker does.
[[nodiscard]] PoolStats MakePoolStats(const PoolFigures& figures);

// Returns the pool's keys together with `added`; the pool's own keys win. If `items` is not empty, only the
// keys that it asks for (gen::IsAskedFor); "worker" asks for all keys that begin with "worker.".
[[nodiscard]] gen::Inspection InspectPool(const PoolFigures& figures, gen::Inspection added,
                                          const std::vector<std::string>& items);

}  // namespace ergon::act
