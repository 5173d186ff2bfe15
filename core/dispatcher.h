// What gives turns to schedulables: the interface of all policies, their options and counters.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <ergon/core/schedulable.h>
#include <ergon/core/stealing_effort.h>

namespace ergon::core {

class Event;

// Called around every turn by the worker that runs it, on its stack. A hook must be quick and must not park or call
// back into the dispatcher. The first exception from a hook is reported on standard error. A turn that parks ends with
// kIdle, and the one that resumes it is a turn of its own; each BeforeTurn is followed by exactly one AfterTurn.
class DispatcherHooks {
 public:
  virtual ~DispatcherHooks() = default;

  virtual void BeforeTurn(Schedulable& schedulable, int worker);
  // Unless `end` is kYielded, the schedulable may be running elsewhere or be gone: use it as an identity only.
  virtual void AfterTurn(Schedulable& schedulable, int worker, TurnEnd end);
  // Called after the AfterTurn of a turn that ended with kCompleted. The schedulable is an identity only.
  virtual void AfterCompletion(Schedulable& schedulable, int worker);
};

struct DispatcherOptions {
  int workers = 0;      // threads, 0..1024; 0: as many as there are cores, at least 2
  int throughput = 32;  // messages a turn may handle, 1..4096; read by what owns the schedulables
  // How long a turn with quick messages may go on beyond that, in nanoseconds, at most a second; 0: it may not. Read by
  // what owns the schedulables, too.
  std::int64_t turn_ns = 20'000;
  // A turn ends after the message with which it has lasted this long, in nanoseconds, at most a second; 0: no such
  // limit. Read by what owns the schedulables, too.
  std::int64_t turn_limit_ns = 1'000'000;
  std::size_t fiber_stack_bytes = 256 * 1024;  // 16 KiB..1 GiB; only pages that are touched count
  std::size_t fibers_cached = 1024;            // idle stacks kept, besides 64 for each worker
  std::int64_t search_ns = 20'000;             // how long a worker looks for work before it sleeps
  StealingEffort stealing = {};                // used instead of search_ns unless empty
  std::string thread_name = "ergon";           // "-<index>" is appended
  std::shared_ptr<DispatcherHooks> hooks = nullptr;
};

// Sums over all workers, each counter exact at rest and never going down.
struct DispatcherStats {
  std::uint64_t turns = 0;    // RunTurn calls
  std::uint64_t steals = 0;   // successful raids on another worker's queue
  std::uint64_t parks = 0;    // turns that parked their fiber
  std::uint64_t wakeups = 0;  // times a sleeping worker came back, for whatever reason
};

// What a worker runs at the moment.
struct RunningTurn {
  int worker = 0;
  std::uint64_t number = 0;                  // counts the worker's turns
  const Schedulable* schedulable = nullptr;  // for its identity: it may end at any time
};

// The interface of a policy, which decides which worker runs what, and when. The node's own policies are
// MakeWorkStealing and MakeWorkSharing. A policy of your own derives from ThreadedDispatcher, which has the threads
// (examples/11_own_policy.cc), or from this class, and is given to a node with gen::NodeOptions::dispatcher. It has to
// keep two promises: a schedulable that has been scheduled gets exactly one RunTurn, at some time, inside the loop of a
// Worker; and everything that happened before Schedule in the thread that called it happens before that RunTurn.
class Dispatcher {
 public:
  // Returns "" if the options are good, else the first field that is not, with its value and range.
  static std::string Validate(const DispatcherOptions& options);

  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  // Stops its threads, if it has any. Turns that are still parked are dropped with their stacks, without unwinding.
  virtual ~Dispatcher() = default;

  // Starts the workers; may be called again. Returns false with a text in `error` (may be null) if an option is
  // invalid, a thread or stack is not available, or the dispatcher has been stopped.
  virtual bool Start(std::string* error) = 0;

  // Calls SignalStop, then waits until the workers are gone. Returns "" on success, and again when called again. Inside
  // a turn of this dispatcher it does nothing and returns an error text.
  [[nodiscard]] virtual std::string Stop() = 0;

  // Asks the workers to end, from any thread or turn, without blocking. Everything that is ready, and everything that
  // this makes ready, still runs, until nothing is left or a second has passed.
  virtual void SignalStop() = 0;

  // Gives a turn to a schedulable that its owner has just moved from idle to scheduled. May be called from any thread.
  // Before Start the schedulable waits for Start; after Stop it is ignored. An exception ends the program.
  virtual void Schedule(Schedulable& schedulable) = 0;

  // Waits for an event on a thread that is not a worker. A dispatcher without threads runs turns meanwhile. WaitFor
  // returns false if the event is not set in time.
  virtual void Wait(Event& event);
  virtual bool WaitFor(Event& event, std::int64_t nanoseconds);

  // Returns false if turns run only while the owner steps or waits. Then nothing that belongs to the dispatcher may use
  // threads.
  virtual bool HasThreads() const { return true; }

  // Visits what the workers run now, without workers that run nothing: for code that looks for turns that take too
  // long. May be called from any thread. A dispatcher that does not know visits nothing.
  virtual void VisitRunning(const std::function<void(const RunningTurn&)>& visit) const;
  // Sets `awake`, which a worker calls when it wakes up after WatchWhileAwake returned false. Call it before Start.
  virtual void SetWatch(std::function<void()> awake);
  // Returns true while a worker is awake. After it has returned false, `awake` is called once when a worker wakes up.
  // So a dispatcher without work need not be watched.
  virtual bool WatchWhileAwake();

  virtual const char* name() const = 0;
  virtual DispatcherStats Stats() const = 0;
  // Returns about how many schedulables wait for a turn now. May be called from any thread. A dispatcher that does not
  // know returns 0.
  virtual std::size_t ReadyApprox() const { return 0; }

  int throughput() const { return options_.throughput; }
  int workers() const { return options_.workers; }
  const DispatcherOptions& options() const { return options_; }

 protected:
  // Replaces workers == 0 by the number it stands for.
  explicit Dispatcher(DispatcherOptions options);

  static constexpr const char* kStopInsideTurn =
      "Dispatcher::Stop called from inside a turn: it would wait for itself; use SignalStop";
  static constexpr const char* kStartAfterStop = "Dispatcher::Start called after Stop";

  DispatcherOptions options_;

 private:
  friend class Worker;

  // The latest time of the coarse clock that a worker has seen; see Worker::TurnTime. Written about once in each tick.
  alignas(64) std::atomic<std::int64_t> time_seen_{0};
};

}  // namespace ergon::core
