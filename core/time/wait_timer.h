// The time-out of the waits of one process: a timer that stays armed when a wait is over.
//
// Nearly every wait has its outcome long before its time is up, so the timer is not disarmed then. When it fires, it
// looks at what the process waits for by now, and is armed for the deadline of that wait, or not at all. A process that
// makes one call after another with the same time-out arms the timer once in each period of one time-out.
//
// `armed_for_` is the time for which the timer is armed, or kNever. While a process is parked, that is the deadline of
// its wait or earlier:
//
//   the process   Note: deadline_ and noted_    TryPark: the word of the wait    Cover: armed_for_ too late? arm
//   the driver    Fired: armed_for_ = kNever    the word, noted_, deadline_: expire, or arm
//
// TryPark, the look in Cover, the store in ArmAnew and the look at the word are sequentially consistent (Dekker's
// pattern): either the process sees that the timer is not armed, or the driver sees that the process waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <ergon/core/clock.h>
#include <ergon/core/foundations/sync.h>
#include <ergon/core/messages/await_state.h>
#include <ergon/core/time/timer_queue.h>

namespace ergon::core {

// `Queue` and `Armed` are a TimerQueue and its Timer.
template <typename Queue, typename Armed>
class BasicWaitTimer {
 public:
  // Called when the wait with this id has taken too long, by the driver of the queue or by the thread that calls Cover.
  using Expire = void (*)(void* context, std::uint64_t id);

  // `wait` is what the process waits for. All of these outlive the queue's driver.
  BasicWaitTimer(Queue& queue, const Clock& clock, const AwaitState& wait, Expire expire,
                 void* context)
      : queue_(queue), clock_(clock), wait_(wait), expire_(expire), context_(context) {}
  BasicWaitTimer(const BasicWaitTimer&) = delete;
  BasicWaitTimer& operator=(const BasicWaitTimer&) = delete;

  // The process itself: notes the wait that has begun, before the process parks.
  void Note(std::uint64_t id, std::int64_t deadline) noexcept {
    deadline_.store(deadline, std::memory_order_relaxed);
    noted_.store(id, std::memory_order_release);  // partner: ArmAnew
  }
  // To be called after the process has parked in a wait with this deadline. Any thread: the process may run again by
  // now, and wait for something else.
  void Cover(std::int64_t deadline) {
    if (armed_for_.load(std::memory_order_seq_cst) > deadline) [[unlikely]]
      ArmFor(deadline);
  }
  // Disarms the timer. To be called while the process does not wait.
  void Withdraw() {
    if (armed_for_.load(std::memory_order_relaxed) == kNever) return;
    const std::lock_guard guard(lock_);
    (void)queue_.Disarm(timer_);
    armed_for_.store(kNever, std::memory_order_seq_cst);
  }

 private:
  static void Fire(void* timer, std::uint64_t) { static_cast<BasicWaitTimer*>(timer)->Fired(); }

  void Fired() {
    std::uint64_t expired = 0;
    {
      const std::lock_guard guard(lock_);
      expired = ArmAnew();
    }
    if (expired != 0) expire_(context_, expired);
  }
  [[gnu::noinline]] void ArmFor(std::int64_t deadline) {
    std::uint64_t expired = 0;
    {
      const std::lock_guard guard(lock_);
      const std::int64_t armed_for = armed_for_.load(std::memory_order_relaxed);
      if (armed_for <= deadline) return;
      if (armed_for != kNever) (void)queue_.Disarm(timer_);
      Arm(deadline);
      // The wait may be over, and Withdraw called: then nothing may stay armed for it.
      if (wait_.WaitingFor() == 0) expired = ArmAnew();
    }
    if (expired != 0) expire_(context_, expired);
  }
  // With the lock: arms the timer for what the process waits for now, or not at all. Returns the id of a wait whose
  // time is up, or 0.
  [[nodiscard]] std::uint64_t ArmAnew() {
    (void)queue_.Disarm(
        timer_);  // also if it has fired: it may have been armed again since it was due
    armed_for_.store(kNever, std::memory_order_seq_cst);
    const std::uint64_t id = wait_.WaitingFor();
    if (id == 0 || noted_.load(std::memory_order_acquire) != id) return 0;
    // This may be the deadline of a later wait: then the wait with `id` is over, and cannot expire.
    const std::int64_t deadline = deadline_.load(std::memory_order_relaxed);
    if (deadline <= clock_.Now()) return id;
    if (deadline == kNever) return 0;  // it waits without an end
    Arm(deadline);
    return 0;
  }
  // With the lock.
  void Arm(std::int64_t deadline) {
    armed_for_.store(deadline, std::memory_order_relaxed);
    queue_.Arm(timer_, deadline);
  }

  Queue& queue_;
  const Clock& clock_;
  const AwaitState& wait_;
  const Expire expire_;
  void* const context_;
  std::atomic<std::int64_t> armed_for_{kNever};
  std::atomic<std::int64_t> deadline_{0};
  std::atomic<std::uint64_t> noted_{0};
  SpinLock lock_;  // of the timer, and of changes of armed_for_
  Armed timer_{&Fire, this, 0};
};

using WaitTimer = BasicWaitTimer<TimerQueue, Timer>;

}  // namespace ergon::core
