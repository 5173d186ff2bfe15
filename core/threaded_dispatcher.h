// What the dispatchers with threads have in common: their start and end, and what a worker does when its own queue is
// empty.
//
// The end. SignalStop sets a flag and wakes all workers. From then on a worker that finds nothing does not sleep but
// leaves `busy_`, naps and looks again. It may come back as long as another worker is busy, since the turn that this
// one runs can make more ready. When `busy_` has reached 0 nothing is left, and it stays 0: all workers end. They also
// end, after the turn they run, when the grace time is over.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ergon/core/dispatcher.h>
#include <ergon/core/queues/idle_workers.h>
#include <ergon/core/queues/injection_hold.h>
#include <ergon/core/queues/injection_queue.h>
#include <ergon/core/turns/fiber_cache.h>
#include <ergon/core/turns/worker.h>

namespace ergon::core {

class ThreadedDispatcher;

// A policy derives from both classes. It says where its workers look for their next turn, and where new ready
// schedulables are put. A worker's Next is TakeLocal, unless the dispatcher is stopping, and then NextSlow.
class ThreadedWorker : public Worker {
 public:
  ~ThreadedWorker() override = default;

 protected:
  ThreadedWorker(ThreadedDispatcher& dispatcher, int index);

  // Takes the next one that this worker has queued itself; nullptr if there is none.
  virtual Schedulable* TakeLocal() = 0;
  // Looks everywhere else once; `now` is the monotonic time in nanoseconds.
  virtual Schedulable* TakeShared(std::int64_t now) = 0;
  // Inside of TakeShared: returns whether it is called again at once if it finds nothing. So it may leave what another
  // worker is about to run.
  [[nodiscard]] bool LooksAgain() const { return looks_again_; }

  // Returns about how many this worker has queued itself. May be called from any thread.
  virtual std::size_t QueuedApprox() const { return 0; }

  // Does the rest of Next, when TakeLocal returned nullptr or the dispatcher is stopping.
  Schedulable* NextSlow();

 private:
  friend class ThreadedDispatcher;

  Schedulable* Search();
  // `now`: Clock ns.
  Schedulable* Look(std::int64_t duration, std::int64_t now);
  Schedulable* SearchFor(std::int64_t duration, std::int64_t now);
  Schedulable* Raid(std::int64_t now);
  Schedulable* NextWhileStopping();

  ThreadedDispatcher& owner_;
  std::int64_t rescue_timeout_;
  std::int64_t search_ns_;    // how long the next search lasts
  bool looks_again_ = false;  // in SearchFor
  RaidPlan raids_;
  std::int64_t pause_ = RaidPlan::kOver;  // before the next raid
};

class ThreadedDispatcher : public Dispatcher, private InjectionHold::Target {
 public:
  bool Start(std::string* error) final;
  std::string Stop() final;
  void SignalStop() final;
  DispatcherStats Stats() const final;
  std::size_t ReadyApprox() const final;
  void VisitRunning(const std::function<void(const RunningTurn&)>& visit) const final;
  void SetWatch(std::function<void()> awake) final { awake_ = std::move(awake); }
  bool WatchWhileAwake() final;

  // Makes turns call these hooks instead of those of the options; null: those of the options again. A turn may begin
  // with the one and end with the other. Has no effect before Start. `hooks` must outlive the dispatcher. May be called
  // from any thread.
  void SetHooks(DispatcherHooks* hooks);

  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

 protected:
  friend class ThreadedWorker;

  ThreadedDispatcher(DispatcherOptions options, bool rescue);

  // The most derived destructor must call this first.
  void StopBeforeDestruction();

  virtual std::unique_ptr<ThreadedWorker> MakeWorker(int index) = 0;
  // Returns whether there is anything in any queue. Called by any worker; with seq_cst reads, see idle_workers.h.
  virtual bool HasWork() const = 0;

  // Schedules from a thread that is not one of the workers. The schedulable waits for the end of the thread's
  // InjectionHold, if there is one.
  void Inject(Schedulable& schedulable);

  const std::vector<std::unique_ptr<ThreadedWorker>>& pool() const { return workers_; }
  IdleWorkers& idle() { return idle_; }
  InjectionQueue& injected() { return injected_; }
  const InjectionQueue& injected() const { return injected_; }

 private:
  void InjectAtOnce(Schedulable* const* batch, std::size_t count) final;
  std::string StartLocked();
  bool InsideTurn() const;
  void ThreadMain(ThreadedWorker& worker);
  // Notes that a worker has woken up.
  void NoteAwake() {
    if (!watched_.load(std::memory_order_seq_cst)) [[unlikely]]
      CallWatch();
  }
  void CallWatch();
  bool GraceIsOver() const;
  bool NapUnlessDone();

  IdleWorkers idle_;
  alignas(64) InjectionQueue injected_;
  alignas(64) FiberPool fibers_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> running_{false};  // workers_ is complete
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> grace_end_{0};
  std::atomic<int> busy_{0};
  std::function<void()> awake_;
  // False: the next worker that wakes up calls awake_.
  std::atomic<bool> watched_{true};
  std::mutex lifecycle_;  // Start and Stop
  std::vector<std::unique_ptr<ThreadedWorker>> workers_;
  std::vector<std::thread> threads_;  // guarded by lifecycle_
};

}  // namespace ergon::core
