// The state and the counters of a pool, as numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <ergon/gen/messenger.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>

namespace ergon::act {

// What a pool answers to Inspect, as numbers for programs. A moment's view; at rest
// forwarded = handled + queued + Lost().
struct PoolStats {
  enum class WorkerState : std::uint8_t {
    kIdle,
    kBusy,      // handles a message, or is about to
    kStarting,  // its Init is not done
    kVacant,    // waits for a replacement: there is no process
  };
  struct Worker {
    static constexpr const char* kTag = "worker";
    gen::PID pid;  // the empty PID: there is no process
    WorkerState state = WorkerState::kIdle;
    std::uint64_t queued = 0;   // messages that wait in its mailbox
    std::uint64_t handled = 0;  // messages that came through the pool
    template <class Archive>
    void serialize(Archive& archive) {
      archive(pid, state, queued, handled);
    }
  };

  std::string worker_behavior;            // class name
  std::string strategy;                   // as in "least loaded"
  std::uint64_t worker_mailbox_size = 0;  // messages; 0: unbounded
  bool stopping = false;
  std::uint64_t worker_restarts = 0;  // replacements made

  // Workers:
  std::uint64_t size = 0;  // ready + starting, so including those being replaced
  // Of `size`. Busy: in a handler or in Init, or about to be; or ended, and not cleared up yet.
  std::uint64_t ready = 0;  // busy or not
  std::uint64_t busy = 0;
  std::uint64_t starting = 0;  // in Init, or waiting for a replacement
  // Taken out by RemoveWorkers, handling what they have queued: counted here only, busy or not.
  std::uint64_t leaving = 0;
  std::vector<Worker> workers = {};  // `size` of them, the oldest place first

  // Messages:
  std::uint64_t forwarded = 0;  // accepted for the workers, each counted once
  std::uint64_t unhandled =
      0;  // refused or dropped: all were full, too slow, or the pool was ending
  std::uint64_t overloaded = 0;    // of those, refused because of PoolOptions::admission_limit
  std::uint64_t queued = 0;        // waiting, at workers and at the pool
  std::uint64_t handled = 0;       // by workers, also those that have ended
  std::uint64_t expired = 0;       // requests that were skipped: see "messages_expired" in pool.h
  std::uint64_t salvaged = 0;      // taken over from workers that had ended
  std::uint64_t drained = 0;       // handled by workers after RemoveWorkers had taken them out
  std::uint64_t lost_crashed = 0;  // being handled when the worker failed
  std::uint64_t lost_full = 0;     // dropped for want of room, by a worker_mailbox that drops
  std::uint64_t lost_missed = 0;   // copies of a broadcast for workers that were full
  std::uint64_t lost_failed = 0;   // their key function, copy constructor or mailbox threw
  std::uint64_t lost_terminated =
      0;  // left over when the pool ended, or a worker of a Broadcast left
  // How long a message waits, from the recent pace: time without work does not count, time that a worker waits for a
  // thread does. Until a worker has handled two messages in a row, its first one sets the pace.
  // PoolOptions::admission_limit uses the same estimate. In nine cases of ten the error is at most 5 % if all jobs take
  // equally long, also right after hours without work; 60 % if one job in ten takes fifty times as long; half a job's
  // time at a steady load of nine tenths. After a change of the jobs' length the pace is right again after about 80
  // jobs per worker.
  std::chrono::microseconds queue_wait_estimate{0};

  // Returns how many messages were accepted but not handled.
  [[nodiscard]] std::uint64_t Lost() const noexcept {
    return lost_crashed + lost_full + lost_missed + lost_failed + lost_terminated;
  }

  // For pools of other Ergon nodes.
  static constexpr const char* kTag = "pool_stats";
  template <class Archive>
  void serialize(Archive& archive) {
    std::int64_t wait = queue_wait_estimate.count();
    archive(worker_behavior, strategy, worker_mailbox_size, stopping, worker_restarts, size, ready,
            busy, starting, leaving, workers, forwarded, unhandled, overloaded, queued, handled,
            expired, salvaged, drained, lost_crashed, lost_full, lost_missed, lost_failed,
            lost_terminated, wait);
    queue_wait_estimate = std::chrono::microseconds(wait);
  }
};

// Asks a pool for its numbers. `messenger` is the node or a process, which must be allowed to call here:
// act::Stats(node, pool), act::Stats(Process(), pool). The pool answers between two messages, before everything
// that waits. A pool of another Ergon node answers too, if both nodes have registered the type:
// options.types.Register<act::PoolStats>(). The errors are those of Messenger::Inspect, and
//   kUnexpectedType  the process is not a pool
//   kUnsupported     the pool is on another node, and one of the two nodes has not registered the type
[[nodiscard]] inline gen::Result<PoolStats> Stats(gen::Messenger& messenger,
                                                  const gen::Target& pool,
                                                  const gen::CallOptions& options = {}) {
  return messenger.InspectAs<PoolStats>(pool, options);
}

}  // namespace ergon::act
