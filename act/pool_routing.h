// What a pool decides: who takes part, who is replaced and when, what happens to a message that
// nobody took.
//
// Pure policy: what happened goes in, what to do comes out. PoolRunner does it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <ergon/act/pool_options.h>
#include <ergon/act/pool_restarts.h>
#include <ergon/act/pool_seats.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>

namespace ergon::act {

class PoolRouting {
 public:
  explicit PoolRouting(const PoolOptions& options);

  [[nodiscard]] const PoolSeats& seats() const noexcept { return seats_; }
  [[nodiscard]] PoolSeats& seats() noexcept { return seats_; }

  // A worker has started that replaces nobody.
  void Joined(gen::PID worker, std::int64_t now) { seats_.AddReady(worker, now); }

  // -- replacement --

  enum class Action : std::uint8_t {
    kNothing,       // not one of the workers, or one that leaves
    kReplace,       // spawn a replacement for the seat
    kReplaceAfter,  // the same after `delay`
    kGiveUp,        // end the pool with GiveUpText
  };
  struct Decision {
    Action action = Action::kNothing;
    std::uint64_t seat = 0;
    std::chrono::nanoseconds delay{0};
  };
  [[nodiscard]] Decision WorkerEnded(gen::PID worker, std::int64_t now);
  // A spawn that WorkerEnded, SpawnFailed or a delay had led to could not even begin.
  [[nodiscard]] Decision SpawnFailed(std::uint64_t seat, std::int64_t now);
  // It has begun. False: the seat is gone, or taken; nobody needs the worker.
  [[nodiscard]] bool Spawned(std::uint64_t seat, gen::PID worker);
  // Whether a seat still waits for its replacement.
  [[nodiscard]] bool IsVacant(std::uint64_t seat);
  [[nodiscard]] std::string GiveUpText() const { return restarts_.GiveUpText(); }

  // A replacement takes messages from now on: in the rotation `replaced` becomes `entry`. Both 0:
  // it is not one of those that are awaited.
  struct Entrance {
    std::uint64_t replaced = 0;
    std::uint64_t entry = 0;
  };
  [[nodiscard]] Entrance WorkerStarted(gen::PID worker, std::int64_t now);

  // -- size --

  // Empty, or why the pool cannot grow by `count`.
  [[nodiscard]] gen::Result<void> CheckGrowth(int count) const;
  // Who leaves when the pool shrinks by `count`: those at the head of the rotation, whose entries
  // are `in_order`. Those with a worker stay in seats(), marked, until that has ended.
  struct Departure {
    std::vector<gen::PID> workers;         // to be told
    std::vector<std::uint64_t> remaining;  // the rotation's new entries
  };
  [[nodiscard]] gen::Result<Departure> Shrink(int count, const std::vector<std::uint64_t>& in_order,
                                              bool drain);

  // -- messages --

  enum class Unplaced : std::uint8_t { kHold, kRefuse };
  // What to do with a message that no worker took. `met_dead`: one of them had ended, which may not
  // be known here yet.
  [[nodiscard]] Unplaced NobodyTook(bool met_dead) const noexcept {
    return !stopping_ && (met_dead || seats_.pending() > 0) ? Unplaced::kHold : Unplaced::kRefuse;
  }

  // -- the end --

  // From now on nobody is replaced; vacant seats are gone.
  void StopReplacing();

 private:
  Decision Replace(PoolSeat& seat, bool has_lived, std::int64_t lived, std::int64_t now);

  PoolSeats seats_;
  PoolRestarts restarts_;
  bool stopping_ = false;
};

}  // namespace ergon::act
