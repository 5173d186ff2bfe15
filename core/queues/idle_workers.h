// Which workers sleep, how many search, and who wakes whom.
//
// A worker without work searches for a while, then sleeps on a futex. One word, `state_`, counts the sleepers and the
// searchers. No wake-up is lost, by Dekker's scheme in the single total order of all seq_cst operations:
//
//   producer 1. publishes the work (seq_cst)
//            2. reads `state_` (NotifyWork)
//   sleeper  1. counts itself in `state_` (PrepareSleep)
//            2. reads all queues, and stays awake if there is work (CancelSleep)
//
// If the sleeper's 2 misses the work, then the producer's 2 comes after the sleeper's 1 and sees it. The producer still
// wakes no worker while another worker searches, because each searcher looks at all queues again after it has left the
// search: before it sleeps, as above, and after it has found something, if it was the last searcher (EndSearch returns
// true); if there is more, it wakes another one. The waker counts the woken worker as a searcher at once, so that two
// pushes in a row do not wake two.
//
// A push to a worker's private slot is published to no other worker: its owner will run it next. If the owner blocks,
// another worker must look: while any worker is awake, one of the sleepers, the rescuer, sleeps with a time-out. The
// rescuer is the first worker that goes to sleep while others are awake; if there is none, because all were asleep
// before, the push wakes one (EnsureRescuer). Others are woken before the rescuer. When all workers sleep none can
// block, and all sleep without a time-out: no wake-ups while nothing happens.
//
// Who is woken to be the rescuer, or is awake again, may find work instead, and block, too. So a rescuer is owed,
// kOwedBit, from when it is wanted, or leaves, until a worker goes to sleep. The last searcher that has found something
// pays (RenewRescuer): it wakes another one, as long as there are sleepers. Partner of the bit's setting: EndSearch.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ergon/core/foundations/sync.h>

namespace ergon::core {

class IdleWorkers {
 public:
  static constexpr int kMaxWorkers = 1024;

  enum class Wake {
    kNotified,  // by NotifyWork, EnsureRescuer or WakeAll
    kTimedOut,  // the rescuer's turn to look around
  };

  // For 1..kMaxWorkers workers. Without `rescue` no worker ever sleeps with a time-out.
  IdleWorkers(int workers, bool rescue);
  IdleWorkers(const IdleWorkers&) = delete;
  IdleWorkers& operator=(const IdleWorkers&) = delete;

  // Wakes a worker if none searches. To be called from any thread, after work was published with a seq_cst operation.
  void NotifyWork() {
    const std::uint64_t state = state_.load(std::memory_order_seq_cst);
    if ((state & kSearchersMask) == 0 && (state & kSleepersMask) != 0) [[unlikely]]
      WakeOne();
  }

  // To be called by a worker that is awake, after it has left work where only a rescuer looks. relaxed: since the
  // caller woke up, which changed `state_`, no rescuer can have gone to sleep without a time-out.
  void EnsureRescuer() {
    const std::uint64_t state = state_.load(std::memory_order_relaxed);
    if ((state & (kRescuerBit | kOwedBit)) == 0 && (state & kSleepersMask) != 0) [[unlikely]]
      OweRescuer();
  }

  // Wakes all workers, to notice a flag that was set (seq_cst) before.
  void WakeAll();

  // Worker: begins to search. Returns false if enough others search already; then look once and sleep.
  [[nodiscard]] bool TryStartSearch();
  // Worker: ends a search that has found something. Returns true if no other worker searches any more: the caller looks
  // at all queues and, if there is more, calls NotifyWork.
  [[nodiscard]] bool EndSearch();

  // Worker, which has found something and for which EndSearch has returned true: sees to it that there is a rescuer, if
  // one is owed.
  void RenewRescuer() {
    if ((state_.load(std::memory_order_relaxed) & kOwedBit) == 0) [[likely]]
      return;
    state_.fetch_and(~kOwedBit, std::memory_order_seq_cst);
    EnsureRescuer();
  }

  // Worker, not searching: becomes a sleeper. Next it looks at all queues, then it calls one of the
  // two below; either makes it a searcher.
  void PrepareSleep(int worker);
  void CancelSleep(int worker);
  // Sleeps until woken; the rescuer at most for `rescue_timeout_ns`.
  Wake Sleep(int worker, std::int64_t rescue_timeout_ns);

  // As Sleep, for a worker that wants to look around itself after `pause_ns`, or sooner if it is the
  // rescuer: kTimedOut then.
  Wake Nap(int worker, std::int64_t pause_ns, std::int64_t rescue_timeout_ns);

  // Returns whether all workers sleep. seq_cst; partner: the count changes before a worker wakes up.
  bool AllSleep() const {
    return (state_.load(std::memory_order_seq_cst) & kSleepersMask) ==
           static_cast<std::uint64_t>(workers_);
  }
  int SleepersApprox() const {
    return static_cast<int>(state_.load(std::memory_order_relaxed) & kSleepersMask);
  }

 private:
  static constexpr std::uint64_t kSleeper = 1;
  static constexpr std::uint64_t kSleepersMask = 0xffff;
  static constexpr std::uint64_t kSearcher = 1 << 16;
  static constexpr std::uint64_t kSearchersMask = std::uint64_t{0xffff} << 16;
  static constexpr std::uint64_t kRescuerBit = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kOwedBit = std::uint64_t{1} << 33;
  static constexpr int kNobody = -1;

  struct alignas(64) Seat {
    std::atomic<std::uint32_t> woken{0};  // futex: 1 when a waker has taken it off `sleepers_`
    bool asleep = false;                  // is on `sleepers_`; guarded by lock_
  };

  void WakeOne();
  void OweRescuer();
  void TakeOff(int worker);
  bool LeaveSleepers(int worker);
  bool IsRescuer(int worker);
  Wake SleepFor(int worker, std::optional<std::int64_t> timeout_ns);

  const int workers_;
  const bool rescue_;
  const std::uint64_t max_searchers_;
  // Counts of sleepers and searchers, and whether there is a rescuer, or one is owed. Sleepers and rescuer change under
  // lock_ only.
  alignas(64) std::atomic<std::uint64_t> state_{0};
  alignas(64) SpinLock lock_;
  std::vector<int> sleepers_;  // the last one fell asleep last; guarded by lock_
  int rescuer_ = kNobody;      // a sleeper; guarded by lock_
  std::unique_ptr<Seat[]> seats_;
};

}  // namespace ergon::core
