// The part of a process's counters that most processes never need, in ProcessCold.
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/foundations/single_writer_counter.h>
#include <ergon/node/process_state/work_pace.h>

namespace ergon::node {

// Read by anybody. Those without another word are written by the one with the right to run the
// process.
struct RareCounts {
  core::SingleWriterCounter expired;  // requests whose caller had stopped waiting
  // Messages that the behaviour has got hold of, and has neither forwarded nor dropped.
  std::atomic<std::int64_t> held{0};
  // Dropped for want of room, by any thread.
  std::atomic<std::uint64_t> overflowed{0};
  // Messages of its pool for which its stash had no room.
  core::SingleWriterCounter routed_unstashed;
  // Requests among the messages of its pool that were expired, and how long these take it in the mean, ns
  // (gen::WorkerDuty::kMeasure).
  core::SingleWriterCounter routed_expired;
  std::atomic<std::int64_t> mean_handling{0};
  WorkPace work_pace;  // of a pool's worker
  // The behaviour's own envelopes in the Main lane, which are no messages.
  std::atomic<std::int64_t> own_in_main{0};
  // By the hooks of its turns (node/diagnosis/turn_meter.h), if they are measured.
  std::atomic<std::int64_t> running_ns{0};
  std::atomic<std::uint64_t> turns{0};

  // ns that a message takes the worker when some wait, by its pace; as long as that is not known, the mean time of its
  // messages. 0: not known either. Any thread.
  [[nodiscard]] std::int64_t TimeForEach() const noexcept {
    const std::int64_t pace = work_pace.Mean();
    return pace != 0 ? pace : mean_handling.load(std::memory_order_relaxed);
  }
  void Reset() noexcept {
    expired.Reset();
    held.store(0, std::memory_order_relaxed);
    overflowed.store(0, std::memory_order_relaxed);
    routed_unstashed.Reset();
    routed_expired.Reset();
    mean_handling.store(0, std::memory_order_relaxed);
    work_pace.Reset();
    own_in_main.store(0, std::memory_order_relaxed);
    running_ns.store(0, std::memory_order_relaxed);
    turns.store(0, std::memory_order_relaxed);
  }
};

}  // namespace ergon::node
