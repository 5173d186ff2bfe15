// A node: the runtime that processes live on, as users see it.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/application.h>
#include <ergon/gen/args.h>
#include <ergon/gen/cron_job.h>
#include <ergon/gen/dropped_message.h>
#include <ergon/gen/environment.h>
#include <ergon/gen/factory.h>
#include <ergon/gen/group_messenger.h>
#include <ergon/gen/log.h>
#include <ergon/gen/message_balance.h>
#include <ergon/gen/metrics.h>
#include <ergon/gen/node_change.h>
#include <ergon/gen/node_info.h>
#include <ergon/gen/process.h>
#include <ergon/gen/process_info.h>
#include <ergon/gen/wait_edge.h>

namespace ergon::gen {

// All functions may be called from any thread. Functions that wait (Call, Inspect, Spawn, StopProcess...) block the
// calling thread. On a thread that runs handlers, or a node's I/O (await.h), they return kNotAllowed, except
// StopProcess and WaitProcess with a time-out of 0. A handler uses gen::Process, which suspends only its own process.
//
// After the node has stopped, all functions that return a Result return kNodeTerminated, whichever process they are
// about. The exceptions are WaitProcess for a PID, and WaitForSignal: what they wait for has happened.
//
// In a child made by fork() the node's threads do not exist. There, too, all functions that return a Result return
// kNodeTerminated, with a text that says so; those that return lists, values of the environment or figures return none
// (Info: the name), and SetEnv, Stop and Wait do nothing, Log writes nothing, and the destructor of the node does
// nothing: its memory stays until the program ends. Signals that the node catches have their default effect. The child
// may start nodes of its own. A child that was forked inside a handler must only call exec or _exit.
class Node : public GroupMessenger {
 public:
  [[nodiscard]] virtual Atom Name() const = 0;
  // Returns the node's own address: the sender of messages that are sent from outside of processes.
  [[nodiscard]] virtual PID Self() const = 0;
  [[nodiscard]] virtual gen::Log Log() = 0;
  // Returns what makes counters, gauges and histograms of the program's own, see gen/metrics.h.
  [[nodiscard]] virtual gen::Metrics& Metrics() = 0;

  // Starts a process and returns when its Init is done. Errors: as Process::Spawn.
  virtual Result<PID> Spawn(const ProcessFactory& factory, const ProcessOptions& options = {},
                            const Args& args = {}) = 0;
  virtual Result<PID> SpawnRegister(Atom name, const ProcessFactory& factory,
                                    const ProcessOptions& options = {}, const Args& args = {}) = 0;
  // Gives a process a name. Returns kTaken, kNotAllowed (it has a name), kIncorrect (an empty one), or a Send's errors.
  virtual Result<void> RegisterName(Atom name, PID pid) = 0;
  // Takes a name away and returns the process that had it. Returns kProcessUnknown if no process has it.
  virtual Result<PID> UnregisterName(Atom name) = 0;
  // As Process::JoinGroup and LeaveGroup, for a process of this node; see GroupMessenger. Further errors:
  // kProcessUnknown and kProcessTerminated if there is no such process (any more).
  virtual Result<void> JoinGroup(Atom group, PID pid) = 0;
  virtual Result<void> LeaveGroup(Atom group, PID pid) = 0;

  // Ends a process at once: the handler that runs is its last, and waiting messages are dropped.
  virtual Result<void> Kill(PID pid) = 0;
  // Lets a process handle all messages that it has accepted and then end with reason normal: once it has handled those
  // of its mailbox, senders are told kProcessTerminated. Returns when it has ended, or kTimeout if it has not within
  // `timeout`; it goes on then. With 0 the function does not wait. Returns kIncorrect if `timeout` is negative.
  virtual Result<void> StopProcess(const Target& to,
                                   std::chrono::nanoseconds timeout = kDefaultCallTimeout) = 0;
  // Suspends a process: its messages of normal priority wait until Resume, while those of high and max priority,
  // signals and inspections are handled. Returns when the process is suspended. For tests and operators. A pool's
  // workers go on. A request to end resumes the process. Returns kTimeout if a handler runs for longer than `timeout`,
  // more than 0; the process will be suspended afterwards.
  virtual Result<void> Suspend(const Target& to,
                               std::chrono::nanoseconds timeout = kDefaultCallTimeout) = 0;
  virtual Result<void> Resume(const Target& to,
                              std::chrono::nanoseconds timeout = kDefaultCallTimeout) = 0;

  // -- changes while it runs: each is logged with the new value and the one before --

  // Sets the lowest level of the log lines of the node, and of processes without a level of their own. Returns
  // kIncorrect if `level` is not a LogLevel.
  virtual Result<void> SetLogLevel(LogLevel level) = 0;
  // Does what Process::SetLogLevel does. std::nullopt: the process uses the node's level again.
  virtual Result<void> SetProcessLogLevel(const Target& to, std::optional<LogLevel> level) = 0;
  // Sets NodeOptions::mailbox_size for processes that are spawned from now on. kIncorrect: it is out of range.
  virtual Result<void> SetMailboxSize(int messages) = 0;
  // Sets how many messages of normal priority may wait for a process, 1..4,000,000; 0: any number. The bound is in
  // effect when this returns. A larger bound lets waiting senders go on; a smaller one drops nothing that waits. The
  // kind of the mailbox stays and its overflow policy applies to new messages: a mailbox that drops drops one message
  // for each new one while it holds more than the new bound. Returns kIncorrect if it is out of range; kUnsupported
  // for a queue of your own (gen::MailboxQueue), or a pool; kNotAllowed for a pool's worker, whose mailbox is the
  // pool's (PoolOptions::worker_mailbox_size).
  virtual Result<void> SetProcessMailboxSize(const Target& to, int messages) = 0;
  // Changes several options of the node at once, and the log levels of behaviours; any process takes it by a message,
  // too. Returns kIncorrect, and changes nothing, for a value out of range, or a behaviour without a name; the text
  // names both.
  virtual Result<void> Change(const NodeChange& change) = 0;
  // Reads NodeOptions::options_file again, as SIGHUP does, and applies what may change: log_level and mailbox_size as
  // above; log_levels, for all processes with these behaviours, also those whose level was set otherwise; the pools
  // that the file names, by act::PoolChange; the environment, by SetEnv, unlogged; and what of the network's options
  // may be changed. Options that are not in the file stay. All or nothing: an error changes nothing. A pool that does
  // not run gets the new values when it starts; the log says so. Blocks while the file is read.
  //   kIncorrect   the file has a fault, another value than at the start for what cannot be changed, or one that a pool
  //                refuses, or it names a process that is not a pool; the text names the field and the value
  //   kNotAllowed  the node has no options_file; or the file names pools, for which this function waits, and a handler
  //                called it
  //   kBusy        another call is reading the file, or the network is still being opened
  //   kTimeout     a handler of a pool runs for more than five seconds
  virtual Result<void> ReloadOptions() = 0;

  // Returns when the process has ended, at once if it has ended already; everything it left behind has then been
  // answered and counted. Returns kTimeout if it has not ended within `timeout`; with 0 it does not wait. A name or an
  // alias that nobody has (any more) is kProcessUnknown: keep the PID to wait for an end that may have come already.
  virtual Result<void> WaitProcess(const Target& to,
                                   std::chrono::nanoseconds timeout = kInfinite) = 0;

  [[nodiscard]] virtual Result<gen::ProcessInfo> ProcessInfo(PID pid) const = 0;
  // Returns the processes that are alive, in the order of their slots.
  [[nodiscard]] virtual std::vector<PID> ProcessList() const = 0;
  [[nodiscard]] virtual NodeInfo Info() const = 0;
  // Returns what became of all messages so far. Looks at every process, so it takes its time.
  [[nodiscard]] virtual gen::MessageBalance MessageBalance() const = 0;
  // Returns the last messages that were dropped, newest first: up to NodeOptions::drops_remembered. No thread waits in
  // order to remember a message: of drops that happen at the same moment only some are remembered, and
  // NodeInfo::drops_not_remembered counts the others. All drops are counted by reason in any case.
  [[nodiscard]] virtual std::vector<DroppedMessage> LastDrops() const = 0;
  // Returns which processes wait in a Call, and for whose answers. Looks at every process, each at its own moment.
  [[nodiscard]] virtual std::vector<WaitEdge> WaitForGraph() const = 0;
  // Writes what the node and each of its processes do now, for people: what to look at when something hangs
  // (node/DEBUGGING.md). First comes a line about the node, which says so when it has stopped, and a line for each turn
  // that the watchdog has found too long; a line for each connection with another node, with what waits to be sent and
  // what of the other node's requests has to wait; then a line for each process, in the order of spawning:
  //   PID, registered name or -, class of the behaviour; state (gen::ProcessState, and suspended)
  //   QUEUED   messages of normal priority that wait, and the mailbox's bound if it has one
  //   HIGH     messages of higher priorities that wait
  //   HELD     stashed, or kept by the behaviour to be passed on
  //   HANDLES  the type of the message that it handles, and for how long; or that it waits for a thread; of
  //            an idle pool how many messages wait with its workers
  //   WAITS FOR  whose answer, to a request of which type, and for how long
  // Processes run on meanwhile: each line is a view of its own moment, and a process that ends is left out. The lines
  // are written one by one with stream.write(); the rest is left out when the stream fails. A million processes take
  // seconds, 16 bytes each until Dump returns, and 700 bytes each for as long as the node lives: the part of a process
  // that names and links need is made at the first look. In a child made by fork() one line says that there is no node.
  virtual void Dump(std::ostream& stream) const = 0;

  // -- applications: see gen::ApplicationSpec --

  // Makes an application known. Returns kIncorrect for a field, which the text names, and kTaken if the name is in use.
  virtual Result<void> LoadApplication(const ApplicationSpec& spec) = 0;
  // Forgets an application. Returns kProcessUnknown if it is not loaded, and kNotAllowed if it runs.
  virtual Result<void> UnloadApplication(Atom name) = 0;
  // Starts an application: first the applications it depends on that do not run yet, then its processes. Returns when
  // the Init of the last process is done. If a process fails, the other processes of the same application are ended
  // again, but the applications it depends on stay. `options` are for `name` only. Errors, which name the application
  // or the process:
  //   kProcessUnknown     it is not loaded
  //   kIncorrect          a dependency is not loaded, or they are circular, or an option; nothing was started
  //   kNotAllowed         it runs; it or a dependency is being started or stopped; a dependency was stopped meanwhile
  //   or as for Spawn
  virtual Result<void> StartApplication(Atom name, const ApplicationStartOptions& options = {}) = 0;
  // Ends the application's processes in reverse order, each within its time-out, and returns when all have ended.
  // Returns kTimeout if they have not ended within `timeout`; they go on ending. Returns kNotAllowed if the application
  // does not run, or one that has not begun to stop needs it, and kProcessUnknown if it is not loaded.
  virtual Result<void> StopApplication(Atom name, std::chrono::nanoseconds timeout = kInfinite) = 0;
  // As StopApplication, but kills the processes at once, also if `name` is being stopped or started already. While
  // StartApplication still starts an application that `name` depends on, `name` does not run yet: kNotAllowed.
  virtual Result<void> StopApplicationForce(Atom name) = 0;
  // Returns a view of an application, or kProcessUnknown if it is not loaded.
  [[nodiscard]] virtual Result<gen::ApplicationInfo> ApplicationInfo(Atom name) const = 0;
  [[nodiscard]] virtual std::vector<Atom> Applications() const = 0;  // those that are loaded

  // -- environment: what processes that are spawned from now on inherit; see Process::Env --

  template <class T = std::string>
  [[nodiscard]] std::optional<T> Env(std::string_view name) const {
    return FindEnv(name).Get<T>();
  }
  // As Env, for a value of any type.
  [[nodiscard]] virtual AnyValue FindEnv(std::string_view name) const = 0;
  [[nodiscard]] virtual Environment EnvList() const = 0;
  // With an empty value the node forgets the name.
  virtual void SetEnv(std::string_view name, AnyValue value) = 0;

  // -- cron: see gen::CronJob --

  // Adds a job. Returns kIncorrect for a field, which the text names, and kTaken if the name is in use.
  virtual Result<void> AddCronJob(const CronJob& job) = 0;
  // What the job has started goes on. This and the next three functions return kProcessUnknown for an unknown job.
  virtual Result<void> RemoveCronJob(Atom name) = 0;
  virtual Result<void> EnableCronJob(Atom name) = 0;
  virtual Result<void> DisableCronJob(Atom name) = 0;
  [[nodiscard]] virtual Result<gen::CronJobInfo> CronJobInfo(Atom name) const = 0;
  // Returns all jobs, in the order of their names' texts.
  [[nodiscard]] virtual std::vector<gen::CronJobInfo> CronJobs() const = 0;
  // Returns up to 10,000 runs of the enabled jobs from `since` on, before `since + duration`, by time, then by name.
  [[nodiscard]] virtual std::vector<CronRun> CronRuns(std::chrono::sys_seconds since,
                                                      std::chrono::seconds duration) const = 0;

  // Ends all processes in order and then the node: first the processes of applications (the application started last
  // comes first), then the others. Processes without a parent are asked, the last one started first, to handle the
  // messages in their mailboxes and to end; each takes its linked children along. Processes that have not ended within
  // NodeOptions::shutdown_timeout are killed. Returns when everything is gone. May be called again. Inside a handler,
  // and on a thread of a node's I/O, it only begins to stop the node. `why` is what StopReason returns from then on, if
  // nobody else has begun to stop the node; if it is a failure, the log has it at level error.
  virtual void Stop(const Reason& why = Reason::Shutdown()) = 0;
  // As Stop, but kills all processes at once.
  virtual void StopForce(const Reason& why = Reason::Shutdown()) = 0;
  // Returns why the node stops or has stopped: what Stop was given, shutdown after a signal, or how the application has
  // ended that takes the node with it. While the node runs: normal.
  [[nodiscard]] virtual Reason StopReason() const = 0;
  // Returns when the node has stopped; where it must not block (see above), at once.
  virtual void Wait() = 0;
  // Stops the node on SIGINT or SIGTERM. Returns when the node has stopped, also when another thread has stopped it. A
  // second signal kills everything at once; if a handler goes on for another half second all the same, the signal ends
  // the program, after log lines that name the handlers. Errors, after which the node runs on:
  //   kInternal    signals cannot be caught: no file descriptor is left, for instance; see the text
  //   kNotAllowed  inside a handler, or the node has a clock of its own and catches no signals
  virtual Result<void> WaitForSignal() = 0;

  // As Call, without waiting: the future gets the answer or the error, or the exception of R's move constructor, which
  // get() throws. May be called from any thread, also inside handlers.
  template <class R = NamedByRequest, class T>
  std::future<Result<AnswerOf<T, R>>> CallAsync(const Target& to, T&& request,
                                                const CallOptions& options = {}) {
    using Answer = AnswerOf<T, R>;
    auto task = std::make_shared<std::packaged_task<Result<Answer>(Result<core::EnvelopePtr>&)>>(
        [](Result<core::EnvelopePtr>& response) -> Result<Answer> {
          if (!response) return std::move(response.error());
          return detail::TakeAnswer<Answer>(**response);
        });
    auto future = task->get_future();
    CallEnvelopeAsync(to, MakeRequest(std::forward<T>(request), options, to), options.timeout,
                      [task](Result<core::EnvelopePtr> response) { (*task)(response); });
    return future;
  }
  // Sends a request and calls `done` exactly once, on the thread that answers; `done` must be short. What `done` throws
  // goes to standard error.
  virtual void CallEnvelopeAsync(const Target& to, core::EnvelopePtr request,
                                 std::chrono::nanoseconds timeout,
                                 std::function<void(Result<core::EnvelopePtr>)> done) = 0;
};

}  // namespace ergon::gen
