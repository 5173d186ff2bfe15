// What a pool decides: who takes part, and who is replaced and when.
//
// Pure policy: what happened goes in, what to do comes out. PoolRunner does it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <ergon/act/pool/members.h>
#include <ergon/act/pool/restarts.h>
#include <ergon/act/pool_options.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>

namespace ergon::act {

class PoolRouting {
 public:
  explicit PoolRouting(const PoolOptions& options);
  void SetRestarts(const PoolOptions& options) { restarts_.SetOptions(options); }

  [[nodiscard]] const PoolMembers& members() const noexcept { return members_; }
  [[nodiscard]] PoolMembers& members() noexcept { return members_; }

  // A worker has started that replaces nobody.
  void Joined(gen::PID worker, std::int64_t now) { members_.AddReady(worker, now); }

  // -- replacement --

  enum class Action : std::uint8_t {
    kNothing,       // not one of the workers, or one that leaves
    kReplace,       // spawn a replacement for the member
    kReplaceAfter,  // the same after `delay`
    kGiveUp,        // end the pool with GiveUpText
  };
  struct Decision {
    Action action = Action::kNothing;
    std::uint64_t member = 0;
    std::chrono::nanoseconds delay{0};
  };
  // `handled`: messages, since its start. Nobody is replaced at the pool's end as long as another
  // worker is ready: that one does the work that is left.
  [[nodiscard]] Decision WorkerEnded(gen::PID worker, std::uint64_t handled, std::int64_t now);
  // A spawn that WorkerEnded, SpawnFailed or a delay had led to could not even begin.
  [[nodiscard]] Decision SpawnFailed(std::uint64_t member, std::int64_t now);
  // It has begun. False: the member is gone, or taken; nobody needs the worker.
  [[nodiscard]] bool Spawned(std::uint64_t member, gen::PID worker);
  // Whether a member still waits for its replacement.
  [[nodiscard]] bool IsVacant(std::uint64_t member);
  [[nodiscard]] std::string GiveUpText() const { return restarts_.GiveUpText(); }

  // A replacement takes messages from now on: in the rotation `replaced` becomes `entry`, or, if that is
  // 0, `entry` is added. Both 0: it is not one of those that are awaited.
  struct Entrance {
    std::uint64_t replaced = 0;
    std::uint64_t entry = 0;
  };
  [[nodiscard]] Entrance WorkerStarted(gen::PID worker, std::int64_t now);

  // -- size --

  // Empty, or why the pool cannot grow by `count`.
  [[nodiscard]] gen::Result<void> CheckGrowth(int count) const;
  // Who leaves when the pool shrinks by `count`: those at the head of the rotation, whose entries
  // are `in_order`. Those with a worker stay in members(), marked, until that has ended.
  struct Departure {
    std::vector<gen::PID> workers;         // to be told
    std::vector<std::uint64_t> remaining;  // the rotation's new entries
  };
  [[nodiscard]] gen::Result<Departure> Shrink(int count, const std::vector<std::uint64_t>& in_order,
                                              bool drain);

  // -- the end --

  // The pool ends, after the work that is left. If somebody is ready to do that, vacant members are gone, and
  // workers that still start leave; else vacant members are to be filled at once, whatever their delay was.
  struct Remnant {
    std::vector<gen::PID> leaving;      // to be told
    std::vector<std::uint64_t> vacant;  // members to be filled
  };
  [[nodiscard]] Remnant BeginStop();
  // One more worker for what others have left behind that had been told to end.
  [[nodiscard]] Decision AddWorker(std::int64_t now);
  // Nothing is left to do: all leave. Returns the workers to be told.
  [[nodiscard]] std::vector<gen::PID> Dismiss();
  // From now on nobody is replaced, whatever is left; vacant members are gone.
  void StopReplacing();

 private:
  Decision Replace(PoolMember& member, bool was_healthy, std::int64_t now);
  void EraseVacant();

  PoolMembers members_;
  PoolRestarts restarts_;
  bool stopping_ = false;
  bool replaces_ = true;
};

}  // namespace ergon::act
