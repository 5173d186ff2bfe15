// Where a worker looks for its next turn, and why in this order:
//
//   injected   every 61st turn, and after a turn that used up its budget: what comes from outside
//              must not wait for a worker that always has something of its own. After such a turn
//              by turns with the queues, which must not wait for what comes from outside either
//   slot       what the last turn made ready last: its data is in this core's cache. One entry, not
//              queued, wakes nobody; a bounded number of times in a row, then it queues up
//   fresh      what became ready otherwise, in order
//   spent      what used up its budget and has more to do; every 4th of these picks looks here
//              first
//
// Then, without work of its own: injected, half of another worker's fresh or spent queue, and the slot of a worker that
// has not begun a turn for a while.
//
// While a thief searches, it leaves the only entry of a worker that goes from turn to turn: the owner will soon run it,
// with what it needs in its cache, and the thief would soon search again. It takes the entry when the owner's turn
// lasts, or when the search is over.
//
// The slot is written by its owner only, from empty to an entry; the owner and thieves empty it,
// both with a read-modify-write, so that one of them gets the entry.
#include <atomic>
#include <utility>

#include <ergon/core/queues/local_queue.h>
#include <ergon/core/queues/seen_turn.h>
#include <ergon/core/threaded_dispatcher.h>
#include <ergon/core/work_stealing.h>

namespace ergon::core {
namespace {

constexpr std::uint32_t kInjectedInterval = 61;  // as in Go and tokio: a prime
constexpr std::uint32_t kSpentInterval = 4;
constexpr std::uint32_t kMaxSlotRuns = 32;
// Nanoseconds without a new turn.
constexpr std::int64_t kLoneAfter = 2'000;
constexpr std::int64_t kStrandedAfter = 50'000;

class WorkStealing;

class StealingWorker final : public ThreadedWorker {
 public:
  StealingWorker(WorkStealing& dispatcher, int index);

  // Only on this worker's thread.
  void MakeReady(Schedulable& schedulable);

  // The same, while something is in the slot, or was a moment ago.
  [[gnu::noinline]] void MakeReadyBeside(Schedulable& schedulable);

  std::size_t QueuedApprox() const override {
    const bool has_one = slot_.load(std::memory_order_relaxed) != nullptr;
    return fresh_.ApproxSize() + spent_.ApproxSize() + (has_one ? 1 : 0);
  }
  bool HasWork() const { return !fresh_.Empty() || !spent_.Empty(); }

 private:
  Schedulable* Next() override;
  [[gnu::noinline]] Schedulable* NextOtherwise();
  void Requeue(Schedulable& schedulable) override { spent_carry_ = &schedulable; }
  Schedulable* TakeLocal() override;
  Schedulable* TakeShared(std::int64_t now) override;

  Schedulable* TakeFrom(StealingWorker& victim, std::int64_t now);
  Schedulable* TakeSlot();
  Schedulable* TakeStranded(StealingWorker& victim);
  void PushFresh(Schedulable& schedulable);
  void PushSpent(Schedulable& schedulable);
  std::uint32_t Random();

  WorkStealing& owner_;
  Schedulable* spent_carry_ = nullptr;  // yielded in the turn just ended, in no queue yet
  std::uint32_t until_injected_ = kInjectedInterval;  // picks
  std::uint32_t picks_ = 0;                           // from the queues
  std::uint32_t slot_runs_ = 0;
  bool took_injected_ = false;  // since the last pick from the queues
  std::uint32_t random_;
  LocalQueue<> fresh_;
  LocalQueue<> spent_;
  alignas(64) std::atomic<Schedulable*> slot_{nullptr};
  // What thieves remember of this worker, to see whether it is stuck. If it seems so too early or too late, a thief
  // takes an entry too early or too late, which is harmless.
  alignas(64) SeenTurn seen_turn_;
};

class WorkStealing final : public ThreadedDispatcher {
 public:
  explicit WorkStealing(DispatcherOptions options)
      : ThreadedDispatcher(std::move(options), /*rescue=*/true) {}
  ~WorkStealing() override { StopBeforeDestruction(); }

  void Schedule(Schedulable& schedulable) override {
    Worker* worker = Worker::CurrentInPlace();
    if (worker != nullptr && &worker->dispatcher() == this) [[likely]] {
      static_cast<StealingWorker*>(worker)->MakeReady(schedulable);
    } else {
      InjectFromOutside(schedulable);
    }
  }

  const char* name() const override { return "work-stealing"; }

 private:
  friend class StealingWorker;

  [[gnu::noinline]] void InjectFromOutside(Schedulable& schedulable) { Inject(schedulable); }
  StealingWorker& worker(std::size_t index) const {
    return static_cast<StealingWorker&>(*pool()[index]);
  }

  std::unique_ptr<ThreadedWorker> MakeWorker(int index) override {
    return std::make_unique<StealingWorker>(*this, index);
  }

  bool HasWork() const override {
    if (!injected().Empty()) return true;
    for (std::size_t i = 0; i < pool().size(); ++i) {
      if (worker(i).HasWork()) return true;
    }
    return false;
  }
};

StealingWorker::StealingWorker(WorkStealing& dispatcher, int index)
    : ThreadedWorker(dispatcher, index),
      owner_(dispatcher),
      random_(static_cast<std::uint32_t>(index) * 7919 + 1) {}

void StealingWorker::MakeReady(Schedulable& schedulable) {
  if (slot_.load(std::memory_order_relaxed) == nullptr) [[likely]] {
    // release pairs with the acquire in TakeStranded
    slot_.store(&schedulable, std::memory_order_release);
    owner_.idle().EnsureRescuer();
    return;
  }
  MakeReadyBeside(schedulable);
}

void StealingWorker::MakeReadyBeside(Schedulable& schedulable) {
  // acq_rel: release as above; acquire is not needed by this thread, which had put it there itself
  Schedulable* former = slot_.exchange(&schedulable, std::memory_order_acq_rel);
  if (former != nullptr) PushFresh(*former);
  // What is in the slot now may be stranded, as above: who comes for `former` may block with that.
  owner_.idle().EnsureRescuer();
}

void StealingWorker::PushFresh(Schedulable& schedulable) {
  fresh_.Push(schedulable);
  owner_.idle().NotifyWork();
}

void StealingWorker::PushSpent(Schedulable& schedulable) {
  spent_.Push(schedulable);
  owner_.idle().NotifyWork();
}

Schedulable* StealingWorker::Next() {
  // As TakeLocal and TakeSlot, where nothing comes before the slot.
  if (!owner_.stopping() && spent_carry_ == nullptr && until_injected_ > 1 &&
      slot_runs_ < kMaxSlotRuns && slot_.load(std::memory_order_relaxed) != nullptr) [[likely]] {
    --until_injected_;
    ++slot_runs_;
    if (Schedulable* next = slot_.exchange(nullptr, std::memory_order_relaxed)) [[likely]]
      return next;
  }
  return NextOtherwise();
}

Schedulable* StealingWorker::NextOtherwise() {
  if (!owner_.stopping()) [[likely]] {
    if (Schedulable* next = TakeLocal()) [[likely]]
      return next;
  }
  return NextSlow();
}

Schedulable* StealingWorker::TakeLocal() {
  Schedulable* carry = std::exchange(spent_carry_, nullptr);
  const bool is_injected_turn = --until_injected_ == 0;
  if (is_injected_turn) until_injected_ = kInjectedInterval;
  const bool outside_first = is_injected_turn || (carry != nullptr && !took_injected_);
  if (outside_first) {
    if (Schedulable* next = owner_.injected().Pop()) {
      took_injected_ = true;
      if (carry != nullptr) PushSpent(*carry);
      return next;
    }
  }
  if (carry != nullptr) {
    // Alone, it goes on at once: through the queue, a thief would get it, and with it a cold cache.
    if (slot_.load(std::memory_order_relaxed) == nullptr && !HasWork()) {
      took_injected_ = false;
      return carry;
    }
    PushSpent(*carry);
  }
  if (Schedulable* next = TakeSlot()) return next;
  took_injected_ = false;
  if (++picks_ % kSpentInterval == 0) {
    if (Schedulable* next = spent_.Pop()) return next;
    return fresh_.Pop();
  }
  if (Schedulable* next = fresh_.Pop()) return next;
  return spent_.Pop();
}

Schedulable* StealingWorker::TakeSlot() {
  if (slot_.load(std::memory_order_relaxed) == nullptr) {
    slot_runs_ = 0;
    return nullptr;
  }
  // relaxed: the entry was put there by this thread
  Schedulable* next = slot_.exchange(nullptr, std::memory_order_relaxed);
  if (next == nullptr || slot_runs_++ < kMaxSlotRuns) return next;
  slot_runs_ = 0;
  if (!HasWork()) return next;
  PushFresh(*next);
  return nullptr;
}

Schedulable* StealingWorker::TakeShared(std::int64_t now) {
  if (Schedulable* next = owner_.injected().Pop()) return next;
  const std::size_t count = owner_.pool().size();
  const std::size_t start = Random() % count;
  for (std::size_t i = 0; i < count; ++i) {
    StealingWorker& victim = owner_.worker((start + i) % count);
    if (&victim == this) continue;
    if (Schedulable* next = TakeFrom(victim, now)) {
      CountSteal();
      return next;
    }
  }
  return nullptr;
}

Schedulable* StealingWorker::TakeFrom(StealingWorker& victim, std::int64_t now) {
  const std::int64_t in_turn = victim.seen_turn_.Look(victim.turns(), now);
  const std::size_t queued = victim.fresh_.ApproxSize() + victim.spent_.ApproxSize();
  if (queued == 0) return in_turn < kStrandedAfter ? nullptr : TakeStranded(victim);
  if (queued == 1 && LooksAgain() && in_turn < kLoneAfter) return nullptr;
  if (Schedulable* next = victim.fresh_.StealInto(fresh_)) return next;
  return victim.spent_.StealInto(spent_);
}

Schedulable* StealingWorker::TakeStranded(StealingWorker& victim) {
  Schedulable* entry = victim.slot_.load(std::memory_order_relaxed);
  if (entry == nullptr) return nullptr;
  // acquire pairs with the release in MakeReady. If the owner has run it and put it there again
  // meanwhile, it is ready again, and as good.
  return victim.slot_.compare_exchange_strong(entry, nullptr, std::memory_order_acquire,
                                              std::memory_order_relaxed)
             ? entry
             : nullptr;
}

// xorshift32: victims need no better.
std::uint32_t StealingWorker::Random() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return random_;
}

}  // namespace

std::unique_ptr<Dispatcher> MakeWorkStealing(DispatcherOptions options) {
  return std::make_unique<WorkStealing>(std::move(options));
}

}  // namespace ergon::core
