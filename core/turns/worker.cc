#include <algorithm>

#include <ergon/core/clock.h>
#include <ergon/core/dispatcher.h>
#include <ergon/core/foundations/fatal.h>
#include <ergon/core/foundations/only_runtime.h>
#include <ergon/core/foundations/tell_thrown.h>
#include <ergon/core/turns/fiber_switch.h>
#include <ergon/core/turns/stack_overflow.h>
#include <ergon/core/turns/worker.h>

namespace ergon::core {

constinit thread_local Worker* detail::current_worker [[gnu::tls_model("initial-exec")]] = nullptr;

namespace {

constinit Roster g_workers;

void DoNothing(void*, Fiber&, Fiber&) {}

}  // namespace

Worker::Worker(Dispatcher& dispatcher, int index, FiberPool& fibers, DispatcherHooks* hooks)
    : dispatcher_(dispatcher),
      time_seen_(dispatcher.time_seen_),
      hooks_(hooks),
      index_(index),
      fibers_(fibers),
      on_roster_(g_workers, this) {}

const Roster& Worker::All() noexcept { return g_workers; }

// A compiler may keep the address of a thread-local in a register across a call that switches
// threads; an opaque call that clobbers memory it may not.
[[gnu::noinline]] Worker* Worker::Current() noexcept {
  asm volatile("" ::: "memory");
  return detail::current_worker;
}

const Fiber* Worker::CurrentFiber() noexcept {
  const Worker* worker = Current();
  return worker == nullptr ? nullptr : worker->current_;
}

[[gnu::always_inline]] inline void Worker::Switch(Fiber& from, Fiber& to, Fiber::AfterSwitch after,
                                                  void* context) {
  Worker* worker = from.worker_;
  to.worker_ = worker;
  worker->current_ = &to;
  from.SwitchInPlace(to, after, context);
}

// Out of line: what is read of the thread is not read again behind the switch.
[[gnu::noinline]] bool Worker::Park(ParkHook hook, void* context) {
  Worker* worker = CurrentInPlace();
  if (worker == nullptr) Fatal("Worker::Park", "called outside of a turn");
  Fiber& self = *worker->current_;
  Fiber* next = worker->fibers_.Get();
  if (next == nullptr) return false;
  worker->parks_.Add();
  if (DispatcherHooks* const hooks = worker->hooks()) [[unlikely]] {
    CallUser("AfterTurn of the hooks",
             [&] { hooks->AfterTurn(*self.turn_of_, worker->index_, TurnEnd::kIdle); });
  }
  Switch(self, *next, hook, context);
  return true;
}

void Worker::RequeueParked(Schedulable& schedulable) { Current()->Requeue(schedulable); }

TurnEnd Worker::Resume(Fiber& fiber) {
  Worker* worker = CurrentInPlace();
  if (worker == nullptr) Fatal("Worker::Resume", "called outside of a turn");
  worker->resumed_ = &fiber;
  return TurnEnd::kResumes;
}

// Where turns last about as long as a tick of the clock each of them looks, for it has gone on at each look. A worker
// alone always does, as nobody tells it.
std::int64_t Worker::LookAtClock() noexcept {
  const std::int64_t now = SteadyCoarseNow();
  const bool stands_still = now == turn_time_ && dispatcher_.workers() > 1;
  turns_between_looks_ =
      stands_still ? std::min(2 * turns_between_looks_, kMostTurnsBetweenLooks) : 1;
  turns_to_look_ = turns_between_looks_;
  turn_time_ = now;
  // Relaxed: a hint. Stored once in a tick, so that the line stays in the caches of all.
  if (time_seen_.load(std::memory_order_relaxed) < now) {
    time_seen_.store(now, std::memory_order_relaxed);
  }
  return now;
}

void Worker::Release(void*, Fiber& from, Fiber& to) { to.worker_->fibers_.Put(from); }

// What the calls of hooks take along is copied, so that without hooks it lives in registers.
[[gnu::always_inline]] inline void Worker::RunTurn(Fiber& self, Schedulable& schedulable) {
  Worker* worker = self.worker_;
  worker->turns_.Add();
  // release pairs with the acquire in running(): a turn is never seen with the number of the last one
  worker->running_.store(&schedulable, std::memory_order_release);
  self.turn_of_ = &schedulable;
  if (DispatcherHooks* const hooks = worker->hooks()) [[unlikely]] {
    CallUser("BeforeTurn of the hooks",
             [=, &schedulable] { hooks->BeforeTurn(schedulable, worker->index_); });
  }
  const TurnEnd end = schedulable.RunTurn();
  worker = self.worker_;  // the turn may have parked and come back elsewhere
  if (end == TurnEnd::kResumes) {
    Switch(self, *worker->resumed_, &Release, nullptr);
    return;  // that turn has ended long ago
  }
  if (DispatcherHooks* const hooks = worker->hooks()) [[unlikely]] {
    CallUser("AfterTurn of the hooks",
             [=, &schedulable] { hooks->AfterTurn(schedulable, worker->index_, end); });
    if (end == TurnEnd::kCompleted) {
      CallUser("AfterCompletion of the hooks",
               [=, &schedulable] { hooks->AfterCompletion(schedulable, worker->index_); });
    }
  }
  if (end == TurnEnd::kYielded) worker->Requeue(schedulable);
}

// noexcept: an exception that leaves a turn has nowhere to go.
void Worker::FiberBody(Fiber& self) noexcept {
  for (;;) {
    while (Schedulable* next = self.worker_->Next()) RunTurn(self, *next);
    Switch(self, *self.worker_->thread_fiber_, &Release, nullptr);
  }
}

bool Worker::RunLoop() {
  Fiber* first = fibers_.Get();
  if (first == nullptr) return false;
  WatchStackOverflows(&CurrentFiber);
  Worker* const outer = detail::current_worker;
  detail::current_worker = this;
  Fiber thread_fiber;
  thread_fiber.worker_ = this;
  thread_fiber_ = &thread_fiber;
  Switch(thread_fiber, *first, &DoNothing, nullptr);
  thread_fiber_ = nullptr;
  current_ = nullptr;
  detail::current_worker = outer;
  return true;
}

void Worker::AddTo(DispatcherStats& sum) const {
  sum.turns += turns_.Read();
  sum.steals += steals_.Read();
  sum.parks += parks_.Read();
  sum.wakeups += wakeups_.Read();
}

}  // namespace ergon::core
