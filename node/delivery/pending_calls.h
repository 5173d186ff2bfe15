// Requests that were made outside of processes and wait for their answers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <ergon/core/messages/envelope.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/result.h>
#include <ergon/node/process_state/call_edge.h>

namespace ergon::node {

// Any thread.
class PendingCalls {
 public:
  using Done = std::function<void(gen::Result<core::EnvelopePtr>)>;

  // Makes the error for a caller that has got no answer in time.
  using Describe = std::function<gen::Error(const CallEdge::View&)>;

  PendingCalls(core::TimerQueue& timers, Describe describe)
      : timers_(timers), describe_(std::move(describe)) {}

  // Adds a request: `done` will be called exactly once, by Complete, at the deadline (Clock ns; 0: none) with the error
  // that `describe` makes of `edge`, or by FailAll.
  void Add(std::uint64_t id, std::int64_t deadline, const CallEdge::View& edge, Done done);
  // Does what CallEdge::NoteTaken does.
  void NoteTaken(std::uint64_t id, CallEdge::Stage stage);
  // Returns what a request has noted of itself; without an id if nobody waits for that id (any more).
  [[nodiscard]] CallEdge::View EdgeOf(std::uint64_t id);
  // Does what core::AwaitState::NoteBegun does. `edge` shows it at the deadline.
  [[nodiscard]] bool NoteBegun(std::uint64_t id);
  // Ends a request as at the deadline.
  void Expire(std::uint64_t id);
  // Gives a request its outcome. Returns false if nobody waits for that id (any more).
  bool Complete(std::uint64_t id, gen::Result<core::EnvelopePtr> response);
  [[nodiscard]] bool IsAwaited(std::uint64_t id) const;
  void FailAll(const gen::Error& error);

 private:
  struct Call {
    Done done;
    CallEdge::View edge;
    core::Timer timer;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::uint64_t, std::unique_ptr<Call>> calls;
  };
  static constexpr std::size_t kShards = 8;

  static void TimeIsUp(void* context, std::uint64_t id);
  static void Finish(Call& call, gen::Result<core::EnvelopePtr> outcome);
  // Takes a request out; returns null if nobody waits for that id (any more).
  [[nodiscard]] std::unique_ptr<Call> Take(std::uint64_t id);
  [[nodiscard]] Shard& ShardOf(std::uint64_t id) { return shards_[id % kShards]; }

  core::TimerQueue& timers_;
  const Describe describe_;
  std::array<Shard, kShards> shards_;
};

}  // namespace ergon::node
