// Deadlines of a whole node: many threads arm and disarm, one driver fires.
//
// Nearly every timer is the time-out of something that succeeds, so arming and disarming are what
// must be cheap: a short critical section on one of a few timing wheels, chosen by thread, and no
// system call unless the new deadline is earlier than what the driver sleeps for.
//
// The driver's loop:
//
//     while (running) {
//       queue.RunDue();
//       SleepUntil(queue.PrepareSleep());  // ends early when `wake` has been called since
//     }
//
// `wake` must stick: when it is called after `PrepareSleep` but before the driver really sleeps,
// the sleep must end at once (an eventfd, a posted handler, a flag under the condition's mutex).
//
// No wake-up is lost between looking at the deadlines and sleeping. One word, `bar_`, says what an
// arming thread has to do, and it is read inside the shard's critical section, after the insertion:
//
//     0          the driver is awake and will look at every shard before it sleeps: nothing to do
//     positive   the driver sleeps; a deadline below `bar_` has to wake it
//     negative   the driver is looking; ~bar_ is the earliest deadline armed meanwhile, lower it
//
// `PrepareSleep` makes it negative, visits each shard under its lock, and then replaces it, by
// compare-and-swap, by the bar that follows from both. An insertion that comes before the visit of
// its shard is seen by the visit. One that comes after it has, by the lock, seen the negative value
// or a later one: it either lowers it, which the compare-and-swap takes into account, or finds the
// final bar and judges by it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/core/time/timer_wheel.h>

namespace ergon::core {

class TimerQueue;

// A timer is owned by its user, on a stack or inside another object; the queue allocates nothing for it. It may be
// destroyed when `Disarm` has returned, or by code that has learnt from its `fire` that it has fired; never while it is
// armed. It fires once and may then be armed again, also from its own `fire`.
class Timer : private TimerNode {
 public:
  // Called by the driver, outside of locks. It must not throw, and should be short.
  using Fire = void (*)(void* context, uint64_t argument);

  Timer() = default;
  Timer(Fire fire_in, void* context_in, uint64_t argument_in = 0)
      : fire(fire_in), context(context_in), argument(argument_in) {}
  ~Timer();

  // To be changed only while the timer is not armed.
  Fire fire = nullptr;
  void* context = nullptr;
  uint64_t argument = 0;

 private:
  friend class TimerQueue;

  // The shard that guards this timer, as chosen by the thread that armed it first; 0: none yet. It stays, so that later
  // `Arm`s and `Disarm`s of several threads meet at one lock.
  uint32_t shard_ = 0;
};

class TimerQueue {
 public:
  // `shards` is rounded up to a power of two, at most 64. The clock must outlive the queue. No
  // timer may be armed when the queue ends.
  explicit TimerQueue(const Clock& clock, int shards = 4);
  ~TimerQueue();
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  // Any thread. Arms a timer that is not armed for `deadline`, in nanoseconds of the clock. One
  // that has passed fires at the next `RunDue`. The first `Arm` of a timer must happen before any
  // other use of it; later ones are ordered with `Disarm`, and with the firing, by the queue.
  void Arm(Timer& timer, int64_t deadline);

  // Any thread. Returns true if the timer was still waiting: it will not fire. Returns false if it was not armed, has
  // fired or is firing. In both cases the queue does not touch `timer` any more. After false, though, `fire` may still
  // be called with the old `context` and `argument`: the context must either outlive the queue's driver or be told by
  // the callback that it is done.
  [[nodiscard]] bool Disarm(Timer& timer);

  // The driver only. Fires all timers that are due, in the order of the deadlines, and returns how many there were.
  // Timers that the callbacks arm fire at the next call, even if they are due already.
  size_t RunDue();

  // The driver only, or after it has gone. Fires all armed timers, due or not: for the end, when the callbacks only
  // clean up.
  size_t RunAll();

  // Any thread. Returns a time not later than the earliest deadline, and nearly always equal to it (see
  // `TimerWheel::NextExpiry`); `kNever` when nothing is armed. For a simulation, which advances its clock to it; a
  // driver that sleeps uses `PrepareSleep`.
  [[nodiscard]] int64_t NextDeadline() const;

  // The driver only. Publishes and returns until when the driver is going to sleep: the next
  // multiple of `slack` after the earliest deadline, so that the timers of one such stretch share a
  // wake-up, which makes a timer late by less than `slack`. 1 is exact. From here on, until the
  // next `RunDue`, an earlier deadline calls `wake`.
  [[nodiscard]] int64_t PrepareSleep(int64_t slack = kTimerTick);

  // Sets the function that ends the driver's sleep. The arming thread calls it, outside of locks, inside `Arm`; an
  // exception from it ends the program. To be called before the queue is shared.
  void SetWake(std::function<void()> wake);

  // Any thread. Returns how many timers are armed; a snapshot.
  [[nodiscard]] size_t size() const;

 private:
  struct Shard;

  // The part of a timer that is left once it is due; the timer itself is not touched any more.
  struct Due {
    int64_t deadline;
    Timer::Fire fire;
    void* context;
    uint64_t argument;
  };

  size_t RunUntil(int64_t now);
  void CollectDue(Shard& shard, int64_t now);
  static void SinkAhead(Shard& shard, int64_t now);
  [[nodiscard]] bool MustWake(int64_t deadline);

  const Clock& clock_;
  const uint32_t mask_;  // number of shards - 1
  const std::unique_ptr<Shard[]> shards_;
  std::function<void()> wake_;
  std::vector<Due> due_;  // the driver's

  // Written seldom, read by every `Arm`: kept off the lines that the driver writes.
  alignas(64) std::atomic<int64_t> bar_{0};
};

}  // namespace ergon::core
