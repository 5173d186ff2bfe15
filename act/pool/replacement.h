// The decisions of a pool about its workers: which of them take part, which are replaced, and when.
//
// Pure policy: it gets what has happened, and returns what to do. PoolRunner does it.
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

class PoolReplacement {
 public:
  explicit PoolReplacement(const PoolOptions& options);
  void SetRestarts(const PoolOptions& options) { restarts_.SetOptions(options); }

  [[nodiscard]] const PoolMembers& members() const noexcept { return members_; }
  [[nodiscard]] PoolMembers& members() noexcept { return members_; }

  // Notes that a new worker has started that replaces no other.
  void Joined(gen::PID worker, std::int64_t now) { members_.AddReady(worker, now); }

  // -- replacement --

  enum class Action : std::uint8_t {
    kNothing,       // not a worker of this pool, or one that leaves
    kReplace,       // spawn a replacement for the member
    kReplaceAfter,  // the same after `delay`
    kGiveUp,        // end the pool with GiveUpText
  };
  struct Decision {
    Action action = Action::kNothing;
    std::uint64_t member = 0;
    std::chrono::nanoseconds delay{0};
  };
  // Decides what follows the end of a worker, which had handled `handled` messages since its start. At the pool's
  // end a worker is not replaced as long as another worker is ready: the other worker does the work that is left.
  [[nodiscard]] Decision WorkerEnded(gen::PID worker, std::uint64_t handled, std::int64_t now);
  // Decides what follows a spawn that could not even begin.
  [[nodiscard]] Decision SpawnFailed(std::uint64_t member, std::int64_t now);
  // Notes that the spawn has begun. Returns false if the member is gone or has a worker; then the new worker is not
  // needed.
  [[nodiscard]] bool Spawned(std::uint64_t member, gen::PID worker);
  // Returns whether a member still waits for its replacement.
  [[nodiscard]] bool IsVacant(std::uint64_t member);
  [[nodiscard]] std::string GiveUpText() const { return restarts_.GiveUpText(); }

  // How a replacement enters the rotation: `replaced` becomes `entry`, or, if `replaced` is 0, `entry` is added.
  // Both are 0 if the worker is not an awaited replacement.
  struct Entrance {
    std::uint64_t replaced = 0;
    std::uint64_t entry = 0;
  };
  [[nodiscard]] Entrance WorkerStarted(gen::PID worker, std::int64_t now);

  // -- size --

  // Returns success, or why the pool cannot grow by `count`.
  [[nodiscard]] gen::Result<void> CheckGrowth(int count) const;
  // The result of Shrink by `count`: the members at the head of the rotation leave; `in_order` are its entries.
  // A member with a worker stays in members(), marked, until the worker has ended.
  struct Departure {
    std::vector<gen::PID> workers;         // workers to be told
    std::vector<std::uint64_t> remaining;  // the rotation's new entries
  };
  [[nodiscard]] gen::Result<Departure> Shrink(int count, const std::vector<std::uint64_t>& in_order,
                                              bool drain);

  // -- the end --

  // The pool ends, after the work that is left. If a worker is ready to do this work, vacant members are erased, and
  // workers that are still starting leave; else vacant members have to be filled at once, whatever their delay was.
  struct StopSteps {
    std::vector<gen::PID> leaving;      // workers to be told
    std::vector<std::uint64_t> vacant;  // members to be filled
  };
  [[nodiscard]] StopSteps BeginStop();
  // Adds a worker for the messages that other workers have left behind after they were told to end.
  [[nodiscard]] Decision AddWorker(std::int64_t now);
  // Makes all workers leave, because nothing is left to do. Returns the workers to be told.
  [[nodiscard]] std::vector<gen::PID> Dismiss();
  // Ends replacement for good, whatever is left, and erases vacant members.
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
