#include <algorithm>
#include <bit>
#include <cassert>
#include <mutex>
#include <utility>

#include <ergon/core/foundations/sync.h>
#include <ergon/core/queues/injection_hold.h>
#include <ergon/core/time/timer_queue.h>

namespace ergon::core {
namespace {

constexpr int kMaxShards = 64;

// How many timers are moved while a shard is locked: arming threads spin meanwhile.
constexpr size_t kDrainBudget = 32;

// How many receivers of due timers are made ready together.
constexpr size_t kHandledTogether = 32;

// After a crowd of timers has been fired, the memory for more than this many is given back.
constexpr size_t kDueKept = 4096;

// A small number of the calling thread, never 0. Consecutive, so that threads spread over the
// shards evenly. Not inlined: the caller may run on a fiber, and no thread-local address may be
// carried over a switch to another thread. A number that is carried over is harmless.
[[gnu::noinline]] uint32_t ThreadNumber() {
  static std::atomic<uint32_t> next{0};
  static thread_local constinit uint32_t number = 0;
  while (number == 0) number = next.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

// noexcept: the timer is armed, and its owner, which may be a stack, would be gone.
void CallWake(const std::function<void()>& wake) noexcept { wake(); }

}  // namespace

struct alignas(64) TimerQueue::Shard {
  SpinLock lock;
  TimerWheel wheel;
};

Timer::~Timer() { assert(!linked()); }

TimerQueue::TimerQueue(const Clock& clock, int shards)
    : clock_(clock),
      mask_(std::bit_ceil(static_cast<uint32_t>(std::clamp(shards, 1, kMaxShards))) - 1),
      shards_(new Shard[mask_ + 1]) {}

TimerQueue::~TimerQueue() { assert(size() == 0); }

void TimerQueue::Arm(Timer& timer, int64_t deadline) {
  assert(timer.fire != nullptr);
  if (timer.shard_ == 0) timer.shard_ = ThreadNumber();
  Shard& shard = shards_[timer.shard_ & mask_];
  bool must_wake;
  {
    std::lock_guard guard(shard.lock);  // once it is released, the timer may fire and be gone
    shard.wheel.Insert(timer, deadline);
    must_wake = MustWake(std::max<int64_t>(deadline, 0));
  }
  if (must_wake && wake_) CallWake(wake_);
}

// Called under a shard's lock; see the protocol in the header. Relaxed orders suffice: that lock
// makes the value current, and all else happens to this one variable.
bool TimerQueue::MustWake(int64_t deadline) {
  int64_t bar = bar_.load(std::memory_order_relaxed);
  while (true) {
    const bool looking = bar < 0;
    if (deadline >= (looking ? ~bar : bar)) return false;
    // Lowered in both cases. When the driver sleeps: it is about to be woken for this deadline, and
    // only an even earlier one is worth another call.
    if (bar_.compare_exchange_weak(bar, looking ? ~deadline : deadline,
                                   std::memory_order_relaxed)) {
      return !looking;
    }
  }
}

bool TimerQueue::Disarm(Timer& timer) {
  if (timer.shard_ == 0) return false;  // never armed
  Shard& shard = shards_[timer.shard_ & mask_];
  std::lock_guard guard(shard.lock);
  if (!timer.linked()) return false;
  shard.wheel.Remove(timer);
  return true;
}

// Moves the due timers to `due_`. The lock is released every `kDrainBudget` timers, and memory is only allocated while
// it is not held.
void TimerQueue::CollectDue(Shard& shard, int64_t now) {
  size_t budget;
  do {
    budget = kDrainBudget;
    if (due_.capacity() - due_.size() < budget) {
      due_.reserve(std::max(2 * due_.capacity(), due_.size() + budget));
    }
    std::lock_guard guard(shard.lock);
    while (TimerNode* node = shard.wheel.PopDue(now, budget)) {
      const Timer& timer = static_cast<Timer&>(*node);
      due_.push_back({timer.deadline(), timer.fire, timer.context, timer.argument});
    }
  } while (budget == 0);
}

// Prepares what is due later, when all that was due has fired.
void TimerQueue::SinkAhead(Shard& shard, int64_t now) {
  size_t budget;
  do {
    budget = kDrainBudget;
    std::lock_guard guard(shard.lock);
    shard.wheel.SinkAhead(now, budget);
  } while (budget == 0);
}

size_t TimerQueue::RunDue() { return RunUntil(clock_.Now()); }

size_t TimerQueue::RunAll() { return RunUntil(kNever); }

size_t TimerQueue::RunUntil(int64_t now) {
  // Awake: what is armed from here on need not call `wake`. Relaxed, as everything about `bar_`.
  bar_.store(0, std::memory_order_relaxed);
  for (uint32_t i = 0; i <= mask_; ++i) CollectDue(shards_[i], now);

  // A wheel's timers come sorted by tick, those of several wheels one wheel after the other.
  const auto earlier = [](const Due& a, const Due& b) { return a.deadline < b.deadline; };
  if (!std::is_sorted(due_.begin(), due_.end(), earlier)) {
    std::stable_sort(due_.begin(), due_.end(), earlier);
  }

  // An exception cannot be attributed to anyone here, and must not lose the timers behind it.
  [&]() noexcept {
    InjectionHold hold;
    size_t fired = 0;
    for (const Due& due : due_) {
      due.fire(due.context, due.argument);
      if (++fired % kHandledTogether == 0) hold.Release();
    }
  }();

  const size_t count = due_.size();
  due_.clear();
  if (due_.capacity() > kDueKept) std::vector<Due>().swap(due_);
  for (uint32_t i = 0; i <= mask_; ++i) SinkAhead(shards_[i], now);
  return count;
}

int64_t TimerQueue::NextDeadline() const {
  int64_t earliest = kNever;
  for (uint32_t i = 0; i <= mask_; ++i) {
    std::lock_guard guard(shards_[i].lock);
    earliest = std::min(earliest, shards_[i].wheel.NextExpiry());
  }
  return earliest;
}

int64_t TimerQueue::PrepareSleep(int64_t slack) {
  assert(slack > 0);
  int64_t bar = ~kNever;
  bar_.store(bar, std::memory_order_relaxed);  // made visible by the locks in `NextDeadline`
  const int64_t earliest = NextDeadline();
  while (true) {
    const int64_t first = std::min(earliest, ~bar);
    const int64_t remainder = first % slack;
    const int64_t round_up = remainder == 0 ? 0 : slack - remainder;
    const int64_t until = first > kNever - round_up ? kNever : first + round_up;
    // A deadline in the last `slack` before `until` may wait until then.
    const int64_t wake_below = std::max<int64_t>(until - slack + 1, 0);
    if (bar_.compare_exchange_weak(bar, wake_below, std::memory_order_relaxed)) return until;
  }
}

void TimerQueue::SetWake(std::function<void()> wake) { wake_ = std::move(wake); }

size_t TimerQueue::size() const {
  size_t count = 0;
  for (uint32_t i = 0; i <= mask_; ++i) {
    std::lock_guard guard(shards_[i].lock);
    count += shards_[i].wheel.size();
  }
  return count;
}

}  // namespace ergon::core
