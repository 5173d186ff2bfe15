// A worker: the thread that runs turns, and the fibers it runs them on.
//
// Every turn runs on the stack of a fiber whose body is the worker loop. When a turn has to wait,
// its fiber is parked and the worker goes on with the loop of another fiber from its cache:
//
//   fiber 1: loop, RunTurn(A), handler, Park      -> fiber 2; the hook publishes fiber 1
//   fiber 2: loop, other turns, RunTurn(A) returns Resume -> fiber 1; fiber 2 goes to the cache
//   fiber 1: Park returns true, handler, the turn ends, loop
//
// Fiber 1 may have been resumed by another worker. What runs on a fiber therefore reaches its
// worker through the fiber (updated at every switch) or through Current, never through a value it
// kept.
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/foundations/roster.h>
#include <ergon/core/foundations/sanitizers.h>
#include <ergon/core/foundations/single_writer_counter.h>
#include <ergon/core/schedulable.h>
#include <ergon/core/turns/fiber.h>
#include <ergon/core/turns/fiber_cache.h>

namespace ergon::core {

class Dispatcher;
class DispatcherHooks;
struct DispatcherStats;

class Worker {
 public:
  // Runs on another fiber of the same worker, `to`, after the context of `fiber` has been saved.
  using ParkHook = void (*)(void* context, Fiber& fiber, Fiber& to);

  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Returns the worker whose turn is running on this thread; nullptr elsewhere. Do not keep it across Park.
  static Worker* Current() noexcept;
  // As Current, with one load, for functions in which no turn is parked.
  static Worker* CurrentInPlace() noexcept;

  // Returns the fiber that runs on this thread, if a turn does; nullptr elsewhere. Also in a signal handler.
  static const Fiber* CurrentFiber() noexcept;

  Dispatcher& dispatcher() const { return dispatcher_; }
  int index() const { return index_; }

  // Inside a turn: parks the running fiber, and the worker goes on with another one. From inside
  // the hook on, any thread may cause the fiber to be resumed, by scheduling something whose
  // RunTurn calls Resume. Returns true after that, maybe on another worker; false at once, without
  // calling the hook, if no stack for another fiber could be had.
  [[nodiscard]] static bool Park(ParkHook hook, void* context);

  // Inside a ParkHook: puts what has just been parked at the tail of the worker's queue, as the
  // end of a turn with TurnEnd::kYielded does.
  static void RequeueParked(Schedulable& schedulable);

  // What RunTurn of the schedulable whose turn parked `fiber` returns, to continue that turn in the place of
  // this one. It must touch nothing any more.
  [[nodiscard]] static TurnEnd Resume(Fiber& fiber);

  // Returns all workers there are, for a debugger.
  static const Roster& All() noexcept;

  // From now on turns call these hooks when they begin and when they end; null: none. A turn may be with the ones
  // before still, so all of them outlive the worker. May be called from any thread.
  void SetHooks(DispatcherHooks* hooks) { hooks_.store(hooks, std::memory_order_release); }

  // Adds what this worker has counted. May be called from any thread.
  void AddTo(DispatcherStats& sum) const;

  // Returns what the worker runs now; null when it has nothing to run. May be called from any thread. A caller that
  // asks for this first, and for turns() then, gets the number of that turn, or of a later one.
  const Schedulable* running() const { return running_.load(std::memory_order_acquire); }
  std::uint64_t turns() const { return turns_.Read(); }

  // To be called at the beginning of a turn, once: returns the time, in nanoseconds of the machine's coarse clock
  // (clock.h). To read that takes a tenth of a short turn. So, while it stands still from look to look, only every
  // eighth turn looks, or the first one after another worker has seen it go on. But workers that sleep look every 1 to
  // 10 ms only, and none looks while it has a long turn. So after a long turn that follows short ones, up to seven
  // turns may be told a time that is up to 10 ms too early, and the time from before that turn if all workers had such
  // a one.
  std::int64_t TurnTime() noexcept {
    if (--turns_to_look_ > 0 && time_seen_.load(std::memory_order_relaxed) == turn_time_) [[likely]]
      return turn_time_;
    return LookAtClock();
  }

 protected:
  // `fibers` must have been made with Worker::FiberBody.
  Worker(Dispatcher& dispatcher, int index, FiberPool& fibers, DispatcherHooks* hooks);
  virtual ~Worker() = default;

  // Body of all fibers that a worker uses: the loop.
  static void FiberBody(Fiber& self) noexcept;

  // Runs turns on the calling thread until Next returns nullptr. Returns false if there is no stack at all.
  [[nodiscard]] bool RunLoop();

  // Makes sure that RunLoop will find a stack. Returns false if none is available.
  [[nodiscard]] bool Prepare() { return fibers_.Prepare(); }

  // Returns the next one to run; may sleep. nullptr ends the loop (a later RunLoop may start it again).
  virtual Schedulable* Next() = 0;
  // Takes back a schedulable whose turn has ended with kYielded.
  virtual void Requeue(Schedulable& schedulable) = 0;

  // Notes that the worker has nothing to run and may be about to sleep.
  void NoteNothingToRun() { running_.store(nullptr, std::memory_order_relaxed); }
  // Tells the other workers the time. A worker that looks for work does, so that there is nearly always one that has
  // seen the clock go on.
  void TellTime() noexcept {
    (void)LookAtClock();
    turns_to_look_ = 0;  // the search may last
  }
  void CountSteal() { steals_.Add(); }
  void CountWakeup() { wakeups_.Add(); }

 private:
  friend struct TurnLayout;

  static constexpr std::int32_t kMostTurnsBetweenLooks = 8;

  // Acquire; partner: SetHooks.
  DispatcherHooks* hooks() const { return hooks_.load(std::memory_order_acquire); }
  [[gnu::noinline]] std::int64_t LookAtClock() noexcept;
  static void RunTurn(Fiber& self, Schedulable& schedulable);
  static void Switch(Fiber& from, Fiber& to, Fiber::AfterSwitch after, void* context);
  static void Release(void* context, Fiber& from, Fiber& to);

  Dispatcher& dispatcher_;
  std::atomic<std::int64_t>& time_seen_;  // the dispatcher's
  std::atomic<DispatcherHooks*> hooks_;
  const int index_;
  Fiber* current_ = nullptr;       // the fiber that runs now
  Fiber* resumed_ = nullptr;       // from Resume until RunTurn has returned
  Fiber* thread_fiber_ = nullptr;  // the one RunLoop was called on; never enters the cache
  FiberCache fibers_;
  // At the coarse clock.
  std::int32_t turns_to_look_ = 0;
  std::int32_t turns_between_looks_ = 1;
  std::int64_t turn_time_ = 0;  // what it said last
  std::atomic<Schedulable*> running_{nullptr};
  SingleWriterCounter turns_;
  SingleWriterCounter steals_;
  SingleWriterCounter parks_;
  SingleWriterCounter wakeups_;
  const OnRoster on_roster_;
};

namespace detail {
// Lies at a fixed distance from the thread's own register.
extern constinit thread_local Worker* current_worker [[gnu::tls_model("initial-exec")]];
}  // namespace detail

inline Worker* Worker::CurrentInPlace() noexcept {
#if ERGON_ASAN || ERGON_TSAN  // which make an address of it, and may keep that across a switch
  return Current();
#else
  return detail::current_worker;
#endif
}

}  // namespace ergon::core
