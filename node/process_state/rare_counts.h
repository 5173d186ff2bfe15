// The part of a process's counters that most processes never need, in ProcessCold.
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/foundations/single_writer_counter.h>
#include <ergon/node/process_state/work_pace.h>

namespace ergon::node {

// Read by any thread. Written by the thread with the right to run the process, unless the comment says otherwise.
struct RareCounts {
  core::SingleWriterCounter expired;  // requests whose caller had stopped waiting
  // Messages that the behaviour holds: it has neither forwarded nor dropped them.
  std::atomic<std::int64_t> held{0};
  // Messages dropped because there was no room; written by any thread.
  std::atomic<std::uint64_t> overflowed{0};
  // Those of them that its pool had given it; written by any thread.
  std::atomic<std::uint64_t> routed_overflowed{0};
  // Messages of its pool for which its stash had no room.
  core::SingleWriterCounter routed_unstashed;
  core::SingleWriterCounter unstashings;  // how often it has put back what it had stashed
  // Requests among the messages of its pool that were expired, and how long the pool's messages take the worker in the
  // mean, ns (gen::WorkerDuty::kMeasure).
  core::SingleWriterCounter routed_expired;
  std::atomic<std::int64_t> mean_handling{0};
  WorkPace work_pace;  // of a pool's worker
  // The behaviour's own envelopes in the Main lane, which are not messages.
  std::atomic<std::int64_t> own_in_main{0};
  // Written by the hooks of its turns (node/diagnosis/turn_meter.h), if they are measured.
  std::atomic<std::int64_t> running_ns{0};
  std::atomic<std::uint64_t> turns{0};

  // Returns how long a message takes the worker while messages wait, in ns, by its pace; as long as the pace is not
  // known, the mean time of its messages. 0: neither is known. Any thread.
  [[nodiscard]] std::int64_t TimeForEach() const noexcept {
    const std::int64_t pace = work_pace.Mean();
    return pace != 0 ? pace : mean_handling.load(std::memory_order_relaxed);
  }
  void Reset() noexcept {
    expired.Reset();
    held.store(0, std::memory_order_relaxed);
    overflowed.store(0, std::memory_order_relaxed);
    routed_overflowed.store(0, std::memory_order_relaxed);
    routed_unstashed.Reset();
    unstashings.Reset();
    routed_expired.Reset();
    mean_handling.store(0, std::memory_order_relaxed);
    work_pace.Reset();
    own_in_main.store(0, std::memory_order_relaxed);
    running_ns.store(0, std::memory_order_relaxed);
    turns.store(0, std::memory_order_relaxed);
  }
};

}  // namespace ergon::node
