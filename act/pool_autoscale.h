// Between which numbers of workers a pool keeps itself, and how long its messages may wait.
#pragma once

#include <chrono>
#include <string>

namespace ergon::act {

// The value of PoolOptions::autoscale; while the pool runs, PoolChange changes each field. The pool looks at itself
// every half handling time, at least every second and at most every 10 ms and 10 us for each worker, and changes the
// number of its workers by what it sees:
//
// It grows when messages wait longer than the target, at two looks in a row or once by twice as much: to as many
// workers as Little's law asks for, arrivals times handling time by the utilization, and those that work off what
// waits; to at most twice as many as it has, or to four. Before it grows again, it looks whether throughput has risen
// by at least half of what the new workers should have brought, if it knew before what one worker does. If it has not,
// because they wait for one another or for one database, it goes back to the number that did the same, and stays there
// for `shrink_after` before it tries more; each time in vain it stays twice as long, up to 32 times as long. When
// workers handle too little to know, as those that hang, it grows again after `shrink_after`, or after two handling
// times if they are longer.
//
// It shrinks when fewer workers have been enough for the whole of `shrink_after`, by at most a quarter, as
// RemoveWorkers does. If it has to grow again soon after, it waits twice as long before the next time, up to 32 times
// as long, but at most four times as long while it has twice the workers that it needs.
//
// Where handling times differ, throughput varies by chance: in a few of a hundred cases it goes back too early, and
// tries again as above.
//
// Each change, and why, is a line in the log (info), and Inspect tells the last twenty: "autoscale.<n>". The pool waits
// for the Init of workers that it adds, as in AddWorkers. A pool with the fewest workers to which nobody has sent
// anything for a second looks no more, until a message comes. That one, and those that come together with it, pass
// through the pool, in its own turn: while a handler of the pool itself waits, or while the pool is suspended, they
// wait there, though its workers are idle.
struct PoolAutoscale {
  // At least and at most so many workers, 1..gen::kMaxPoolSize. Pool::AddWorkers, RemoveWorkers and pool_size stay
  // within these, too.
  int min = 1;
  int max = 0;  // has to be given
  // How long a message may wait before its handler starts, as PoolStats::queue_wait_estimate has it. More than 0, at
  // most an hour (gen::kMaxAutoscaleTargetWait).
  std::chrono::nanoseconds target_wait = std::chrono::milliseconds(10);
  // How much of their time workers should be busy, in the mean. More than 0, less than 1.
  double target_utilization = 0.75;
  // For how long fewer workers have to be enough before one goes. At least a second, at most 30 days
  // (gen::kMinAutoscaleShrinkAfter, kMaxAutoscaleShrinkAfter).
  std::chrono::nanoseconds shrink_after = std::chrono::seconds(10);

  friend bool operator==(const PoolAutoscale&, const PoolAutoscale&) = default;

  // Returns an empty text, or what is wrong, as in "autoscale.min: 0 is outside 1..10000".
  [[nodiscard]] std::string Validate() const;
};

}  // namespace ergon::act
