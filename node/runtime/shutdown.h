// How a node ends.
//
//   1  in order   applications, the last one started first; then processes without a parent, the last
//                 one started first: each handles what waits in its mailbox, then ends, then the next
//                 one is asked. Linked children go with it.
//   2  the rest   children without links, in the same way, when their parents have ended
//   3  by force   after the deadline, or at once with StopForce: everything is killed
//   4  tear-down  timers, threads, calls that still wait end
//
// A handler that does not return keeps the node in 3, until NodeOptions::shutdown_deadline, if there is one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/core/dispatcher.h>
#include <ergon/core/foundations/sync.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/log.h>
#include <ergon/gen/node_options.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/result.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/pending_calls.h>
#include <ergon/node/diagnosis/watchdog.h>
#include <ergon/node/io/io_thread.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/runtime/applications.h>
#include <ergon/node/runtime/opened_transport.h>
#include <ergon/node/runtime/unfinished.h>
#include <ergon/node/spawning/dedicated_dispatchers.h>
#include <ergon/node/spawning/fork_guard.h>
#include <ergon/node/spawning/population.h>

namespace ergon::node {

// Any thread.
class Shutdown {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    Addresses& addresses;
    PendingCalls& pending_calls;
    ExitSignals& exit_signals;
    Population& population;
    const Applications& applications;
    core::Dispatcher& dispatcher;
    DedicatedDispatchers& dedicated_dispatchers;
    core::TimerQueue& timers;
    const core::Clock& clock;
    const gen::NodeOptions& options;
    const ForkGuard& fork_guard;
    gen::LogSink& log;
    OpenedTransport& transport;
    std::function<void()> end_recording;  // of what processes do
    std::function<void()> write_dump;     // to standard error
  };
  explicit Shutdown(const Needs& needs) : needs_(needs) {}
  // Waits for the thread that ends the node, if there is one.
  ~Shutdown();
  // Sets the parts that have threads of their own, and end with the node; null: there is none. Before anything else.
  void SetThreads(IoThread* io, Watchdog* watchdog) {
    io_ = io;
    watchdog_ = watchdog;
  }

  // Ends the node and waits until it has ended; inside of a handler, or on a thread of a node's I/O, it only begins.
  void Stop(bool force, const gen::Reason& why);
  // Returns the reason of whoever was first to end the node; until then: normal.
  [[nodiscard]] gen::Reason Why() const;
  // Waits until the node has ended.
  void Wait();
  // Ends the node at SIGINT or SIGTERM, and waits for that. Returns kNotAllowed if the node has no signals.
  gen::Result<void> WaitForSignal();
  // Does the same without waiting. At most once, after SetThreads.
  gen::Result<void> StopOnSignal();

  // Returns false if the node has stopped, or its threads are in another program, and this one is its fork.
  [[nodiscard]] bool IsUsable() const noexcept {
    return home_.load(std::memory_order_relaxed) == core::ForkCount();
  }

 private:
  static constexpr std::uint32_t kNowhere = 0xffff'ffff;  // home_: stopped
  enum class Phase : std::uint8_t { kRunning, kStopping, kStopped };

  // Returns true if this call is the first to end the node, and must call TearDown; with `in_background` another thread
  // does. Throws when there is no thread for that.
  bool Begin(bool in_background, const gen::Reason& why);
  void SetWhy(const gen::Reason& why);
  void TearDown();
  void StopInOrder(std::int64_t deadline);
  void KillAll();
  // Of the node: spawned by Node::Spawn; without parent: those, too, and those whose parent has ended.
  enum class Which : std::uint8_t { kAll, kOfNode, kWithoutParent };
  std::vector<gen::PID> NewestFirst(Which which) const;
  void WarnOfBusy();
  // Returns the level of the log lines of a stop; that of a stop by a signal is higher.
  [[nodiscard]] gen::LogLevel Level() const {
    return is_signalled_.load(std::memory_order_relaxed) ? gen::LogLevel::kInfo
                                                         : gen::LogLevel::kDebug;
  }
  void Tell(const std::string& line) { Tell(Level(), line); }
  void Tell(gen::LogLevel level, const std::string& line);
  void TellWaited(gen::PID pid);
  void TellKilled();
  [[noreturn]] void EndProgram();
  gen::Result<void> ListenForSignals();
  void Signalled(int signal);
  static void EndBySignal(void* context, std::uint64_t);

  const Needs needs_;
  const Unfinished unfinished_{needs_.addresses, needs_.clock};
  IoThread* io_ = nullptr;
  Watchdog* watchdog_ = nullptr;
  std::atomic<std::uint32_t> home_{needs_.fork_guard.started_in()};
  std::mutex mutex_;  // of a stop that begins, also while NodeOptions::defer is called
  mutable std::mutex why_mutex_;
  gen::Reason why_;  // under why_mutex_
  std::atomic<Phase> phase_{Phase::kRunning};
  std::atomic<bool> force_{false};
  // The thread that is inside of TearDown. In a simulation it runs other code while it waits there.
  std::atomic<std::thread::id> tearing_down_{};
  core::Event stopped_event_;
  core::Event signalled_;  // or stopped
  // The I/O thread's.
  int signals_ = 0;
  int last_signal_ = 0;
  std::atomic<bool> stops_on_signal_{false};
  std::atomic<bool> is_signalled_{false};
  core::Timer last_resort_{&EndBySignal, this};
  std::thread stopper_;  // when Stop was called where it must not wait
};

}  // namespace ergon::node
