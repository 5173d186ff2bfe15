#include <algorithm>
#include <mutex>

#include <ergon/core/clock.h>
#include <ergon/core/foundations/fatal.h>
#include <ergon/core/queues/idle_workers.h>

namespace ergon::core {

IdleWorkers::IdleWorkers(int workers, bool rescue)
    : workers_(workers),
      rescue_(rescue),
      max_searchers_(static_cast<std::uint64_t>(std::max(2, workers / 2))) {
  if (workers < 1 || workers > kMaxWorkers) Fatal("IdleWorkers", "workers is outside 1..1024");
  sleepers_.reserve(static_cast<std::size_t>(workers));
  seats_ = std::make_unique<Seat[]>(static_cast<std::size_t>(workers));
}

// Makes a sleeper a searcher. Under lock_.
void IdleWorkers::TakeOff(int worker) {
  sleepers_.erase(std::find(sleepers_.begin(), sleepers_.end(), worker));
  seats_[static_cast<std::size_t>(worker)].asleep = false;
  const bool was_rescuer = rescuer_ == worker;
  const std::uint64_t change = kSearcher - kSleeper - (was_rescuer ? kRescuerBit : 0);
  state_.fetch_add(change, std::memory_order_seq_cst);  // the word as a whole never goes below 0
  if (!was_rescuer) return;
  rescuer_ = kNobody;
  // After that step: who pays in between (RenewRescuer) would find a rescuer that is about to leave, and leave it at
  // that. Until the bit is there, this worker is a searcher, which owes when it ends its search.
  state_.fetch_or(kOwedBit, std::memory_order_seq_cst);
}

void IdleWorkers::WakeOne() {
  Seat* seat;
  {
    std::lock_guard guard(lock_);
    const std::uint64_t state = state_.load(std::memory_order_seq_cst);
    // Another thread was faster. A worker that woke up or began to search meanwhile looks at all queues later than
    // this, so it sees what the caller has published.
    if ((state & kSearchersMask) != 0 || sleepers_.empty()) return;
    int worker = sleepers_.back();
    if (worker == rescuer_ && sleepers_.size() > 1) worker = sleepers_[sleepers_.size() - 2];
    TakeOff(worker);
    seat = &seats_[static_cast<std::size_t>(worker)];
    seat->woken.store(1, std::memory_order_release);  // to the acquires in Sleep and CancelSleep
  }
  FutexWake(seat->woken, 1);
}

// A searcher that is under way sees the bit when it ends its search; if there is none, one is woken.
void IdleWorkers::OweRescuer() {
  if (!rescue_) return;
  const std::uint64_t before = state_.fetch_or(kOwedBit, std::memory_order_seq_cst);
  if ((before & (kRescuerBit | kSearchersMask)) == 0) WakeOne();
}

void IdleWorkers::WakeAll() {
  std::lock_guard guard(lock_);
  while (!sleepers_.empty()) {
    const int worker = sleepers_.back();
    TakeOff(worker);
    Seat& seat = seats_[static_cast<std::size_t>(worker)];
    seat.woken.store(1, std::memory_order_release);  // to the acquires in Sleep and CancelSleep
    FutexWake(seat.woken, 1);
  }
}

bool IdleWorkers::TryStartSearch() {
  if ((state_.load(std::memory_order_relaxed) & kSearchersMask) / kSearcher >= max_searchers_) {
    return false;
  }
  state_.fetch_add(kSearcher, std::memory_order_seq_cst);
  return true;
}

bool IdleWorkers::EndSearch() {
  const std::uint64_t before = state_.fetch_sub(kSearcher, std::memory_order_seq_cst);
  return (before & kSearchersMask) == kSearcher;
}

void IdleWorkers::PrepareSleep(int worker) {
  std::lock_guard guard(lock_);
  Seat& seat = seats_[static_cast<std::size_t>(worker)];
  seat.woken.store(0, std::memory_order_relaxed);  // nobody wakes it before it is on the list
  seat.asleep = true;
  sleepers_.push_back(worker);
  std::uint64_t change = kSleeper;
  if (rescue_ && rescuer_ == kNobody && static_cast<int>(sleepers_.size()) < workers_) {
    rescuer_ = worker;
    change += kRescuerBit;
  }
  const std::uint64_t before = state_.fetch_add(change, std::memory_order_seq_cst);
  // Now there is a rescuer, or all sleep.
  if ((before & kOwedBit) != 0) state_.fetch_and(~kOwedBit, std::memory_order_seq_cst);
}

// True if it left the sleepers itself; false if a waker has taken it off.
bool IdleWorkers::LeaveSleepers(int worker) {
  std::lock_guard guard(lock_);
  if (!seats_[static_cast<std::size_t>(worker)].asleep) return false;
  TakeOff(worker);
  return true;
}

void IdleWorkers::CancelSleep(int worker) { LeaveSleepers(worker); }

bool IdleWorkers::IsRescuer(int worker) {
  std::lock_guard guard(lock_);
  return rescuer_ == worker;
}

IdleWorkers::Wake IdleWorkers::Sleep(int worker, std::int64_t rescue_timeout_ns) {
  if (IsRescuer(worker)) return SleepFor(worker, rescue_timeout_ns);
  return SleepFor(worker, std::nullopt);
}

IdleWorkers::Wake IdleWorkers::Nap(int worker, std::int64_t pause_ns,
                                   std::int64_t rescue_timeout_ns) {
  return SleepFor(worker, IsRescuer(worker) ? std::min(pause_ns, rescue_timeout_ns) : pause_ns);
}

IdleWorkers::Wake IdleWorkers::SleepFor(int worker, std::optional<std::int64_t> timeout) {
  Seat& seat = seats_[static_cast<std::size_t>(worker)];
  const std::int64_t end = timeout ? SteadyNow() + *timeout : 0;
  // acquire pairs with the release in WakeOne and WakeAll
  while (seat.woken.load(std::memory_order_acquire) == 0) {
    if (!FutexWait(seat.woken, 0, timeout) && LeaveSleepers(worker)) return Wake::kTimedOut;
    // A signal, such as a profiler's, ends the wait of the system: what is left of the time goes on.
    if (timeout) timeout = end - SteadyNow();
  }
  return Wake::kNotified;
}

}  // namespace ergon::core
