// The bounds between which a pool chooses its number of workers itself, and how long its messages may wait.
#pragma once

#include <chrono>
#include <string>

namespace ergon::act {

// The value of PoolOptions::autoscale; while the pool runs, PoolChange changes each field. The pool measures itself
// again after half a handling time, but not before 10 ms plus 10 us per worker, and not later than after a second; and
// it changes the number of its workers:
//
// It grows when the estimated wait exceeds the target in two measurements in a row, or twice the target in one: to what
// Little's law asks for (arrivals times handling time, divided by the utilization) plus workers for what waits already;
// at most to twice its number, or to four. Before it grows again it checks the last growth, if it knew before what one
// worker does: throughput must have risen by at least half of what the new workers should have brought. If it has not
// (they wait for each other, or for one database), the pool returns to the number of workers that gave the same
// throughput and stays there for `shrink_after`, after each further failure twice as long, up to 32 times. If too few
// messages were handled to judge, as with workers that hang, it grows again after `shrink_after`, or two handling times
// if that is longer.
//
// It shrinks, as RemoveWorkers does and by at most a quarter, when fewer workers have been enough for all of
// `shrink_after`. If it must grow again soon afterwards, the next shrink waits twice as long, up to 32 times
// `shrink_after`; but only up to four times while the pool has at least twice the workers that it needs.
//
// If handling times vary, a few growths in a hundred are undone by chance and tried again later.
//
// Every change is logged (info) with its reason; Inspect shows the last twenty as "autoscale.<n>". The pool waits for
// the Init of workers that it adds. With `min` workers and nothing to do for a second it stops measuring. The next
// message, and those that come together with it, go through the pool's own turn: if a handler of the pool waits or the
// pool is suspended, they wait there although workers are idle.
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
