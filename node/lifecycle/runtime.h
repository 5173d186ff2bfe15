// The runtime behind a node: delivery, the process table, names, relations, timers, the end.
//
//   runtime.cc        start, identity, spawning, calls and waits from outside
//   inspection.cc     ProcessInfo, Info, MessageBalance
//   wait_graph.cc     who waits for whom, and what cannot end
//   callee_state.cc   what a time-out tells
//   delivery.cc       how an envelope reaches a mailbox, or is answered, or is counted
//   routing.cc        the same for pools
//   delayed_send.cc   messages that are sent later
//   exit_signals.cc   exit signals, kills, stops
//   registry.cc       names and aliases
//   publishing.cc     events
//   inheritance.cc    environments, and who leads whom
//   shutdown.cc       Stop, StopForce, Wait
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <typeinfo>

#include <ergon/core/clock.h>
#include <ergon/core/dispatcher.h>
#include <ergon/core/foundations/fork_count.h>
#include <ergon/core/foundations/striped_counter.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/node.h>
#include <ergon/gen/node_options.h>
#include <ergon/gen/process_host.h>
#include <ergon/node/delivery/drop_memory.h>
#include <ergon/node/delivery/pending_calls.h>
#include <ergon/node/delivery/withdrawn_requests.h>
#include <ergon/node/diagnosis/logging.h>
#include <ergon/node/diagnosis/watchdog.h>
#include <ergon/node/lifecycle/applications.h>
#include <ergon/node/lifecycle/blocking_threads.h>
#include <ergon/node/lifecycle/dedicated_dispatchers.h>
#include <ergon/node/lifecycle/node_environment.h>
#include <ergon/node/lifecycle/stop_sequence.h>
#include <ergon/node/process/call_edge.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process/table.h>
#include <ergon/node/process/turn_budget.h>
#include <ergon/node/relations/events.h>
#include <ergon/node/relations/names.h>
#include <ergon/node/time/cron.h>
#include <ergon/node/time/io_thread.h>
#include <ergon/node/time/periodic_sends.h>

namespace ergon::node {

class Runtime final : public gen::Node, private gen::LogSink {
 public:
  static gen::Result<std::unique_ptr<Runtime>> Start(gen::Atom name,
                                                     const gen::NodeOptions& options);
  ~Runtime() override;

  // -- gen::Messenger --
  [[nodiscard]] gen::Result<gen::PID> Resolve(const gen::Target& target) const override;
  [[nodiscard]] gen::MessagePriority DefaultPriority() const override {
    return gen::MessagePriority::kNormal;
  }
  gen::Result<void> SendEnvelope(gen::PID to, core::EnvelopePtr envelope) override;
  gen::Result<core::EnvelopePtr> CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                              std::chrono::nanoseconds timeout) override;
  gen::Result<void> SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                         core::EnvelopePtr response) override;
  gen::Result<gen::TimerHandle> SendEnvelopeAfter(const gen::Target& to, core::EnvelopePtr envelope,
                                                  std::chrono::nanoseconds delay) override;
  gen::Result<gen::TimerHandle> SendEnvelopesEvery(const gen::Target& to,
                                                   std::function<core::EnvelopePtr()> make,
                                                   std::chrono::nanoseconds period) override {
    return periodic_sends_.Start(Self(), to, std::move(make), period);
  }
  gen::Result<void> SendExit(const gen::Target& to, gen::Reason reason) override;

  // -- gen::Node --
  [[nodiscard]] gen::Atom Name() const override { return name_; }
  [[nodiscard]] gen::PID Self() const override { return {kNodeId, name_, creation_}; }
  [[nodiscard]] gen::Log Log() override { return gen::Log(*this); }
  gen::Result<gen::PID> Spawn(const gen::ProcessFactory& factory,
                              const gen::ProcessOptions& options, const gen::Args& args) override;
  gen::Result<gen::PID> SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                      const gen::ProcessOptions& options,
                                      const gen::Args& args) override;
  gen::Result<void> RegisterName(gen::Atom name, gen::PID pid) override;
  gen::Result<gen::PID> UnregisterName(gen::Atom name) override;
  gen::Result<void> Kill(gen::PID pid) override;
  gen::Result<void> StopProcess(const gen::Target& to, std::chrono::nanoseconds timeout) override;
  gen::Result<void> Suspend(const gen::Target& to, std::chrono::nanoseconds timeout) override;
  gen::Result<void> Resume(const gen::Target& to, std::chrono::nanoseconds timeout) override;
  gen::Result<void> SendEnvelopeOrWait(const gen::Target& to, core::EnvelopePtr envelope,
                                       std::chrono::nanoseconds timeout) override;
  gen::Result<void> WaitProcess(const gen::Target& to, std::chrono::nanoseconds timeout) override;
  [[nodiscard]] gen::Result<gen::ProcessInfo> ProcessInfo(gen::PID pid) const override;
  [[nodiscard]] std::vector<gen::PID> ProcessList() const override;
  [[nodiscard]] gen::NodeInfo Info() const override;
  [[nodiscard]] gen::MessageBalance MessageBalance() const override;
  [[nodiscard]] std::vector<gen::DroppedMessage> LastDrops() const override {
    return drop_memory_.Newest(started_at_);
  }
  [[nodiscard]] std::vector<gen::WaitEdge> WaitForGraph() const override;
  gen::Result<void> LoadApplication(const gen::ApplicationSpec& spec) override {
    return applications_.Load(spec);
  }
  gen::Result<void> UnloadApplication(gen::Atom name) override {
    return applications_.Unload(name);
  }
  gen::Result<void> StartApplication(gen::Atom name) override;
  gen::Result<void> StopApplication(gen::Atom name, std::chrono::nanoseconds timeout) override;
  [[nodiscard]] gen::Result<gen::ApplicationInfo> ApplicationInfo(gen::Atom name) const override {
    return applications_.Info(name, clock_->Now());
  }
  [[nodiscard]] std::vector<gen::Atom> Applications() const override {
    return applications_.List();
  }
  [[nodiscard]] std::optional<std::string> Env(std::string_view name) const override;
  [[nodiscard]] gen::Environment EnvList() const override { return *environment_.Get(); }
  void SetEnv(std::string_view name, std::optional<std::string> value) override {
    environment_.Set(name, std::move(value));
  }
  gen::Result<void> AddCronJob(const gen::CronJob& job) override { return cron_.Add(job); }
  gen::Result<void> RemoveCronJob(gen::Atom name) override { return cron_.Remove(name); }
  gen::Result<void> EnableCronJob(gen::Atom name) override { return cron_.Enable(name, true); }
  gen::Result<void> DisableCronJob(gen::Atom name) override { return cron_.Enable(name, false); }
  [[nodiscard]] gen::Result<gen::CronJobInfo> CronJobInfo(gen::Atom name) const override {
    return cron_.Info(name);
  }
  [[nodiscard]] std::vector<gen::CronJobInfo> CronJobs() const override { return cron_.List(); }
  [[nodiscard]] std::vector<gen::CronRun> CronRuns(std::chrono::sys_seconds since,
                                                   std::chrono::seconds duration) const override {
    return cron_.Runs(since, duration);
  }
  void Stop() override;
  void StopForce() override;
  void Wait() override;
  gen::Result<void> WaitForSignal() override;
  void CallEnvelopeAsync(const gen::Target& to, core::EnvelopePtr request,
                         std::chrono::nanoseconds timeout,
                         std::function<void(gen::Result<core::EnvelopePtr>)> done) override;

  // -- for processes (delivery.cc) --
  // Delivers, or returns why not and leaves the envelope to the caller.
  gen::Result<void> Deliver(gen::PID to, core::EnvelopePtr& envelope);
  // Delivers, or drops and counts what nobody will hear of any more, and returns why.
  gen::Result<void> DeliverOrDrop(const gen::Target& to, core::EnvelopePtr envelope);
  gen::Result<void> DeliverMakingRoom(gen::PID worker, core::EnvelopePtr& envelope);
  // Answers a request; kResponseIgnored when nobody waits.
  gen::Result<void> Respond(gen::PID from, std::uint64_t ref, core::EnvelopePtr response);
  void RespondError(gen::PID from, std::uint64_t ref, const gen::Error& error);
  [[nodiscard]] bool IsAwaited(gen::PID from, gen::Ref ref) const;
  // Ends an envelope that nobody will handle: a request is answered, everything else is counted.
  // `to`: who should have handled it; the empty PID: not known.
  void DropEnvelope(core::EnvelopePtr envelope, gen::PID to, gen::DropReason reason,
                    const gen::Error& error);
  // Counts and remembers a message that is dropped.
  void NoteDrop(const core::Envelope& envelope, gen::PID to, gen::DropReason reason,
                const gen::Error& error);
  // A message was dropped for want of room; `pool` is the receiver's parent, maybe one that it came through.
  void CountOverflow(Process& receiver, gen::PID pool, const core::Envelope& envelope);
  // For senders that keep no books of their own.
  void CountAccepted() { accepted_.Add(); }
  // After a signal was delivered; `ends`: it will end the process.
  void Interrupt(Process& process, gen::PID pid, bool ends);
  void SendExitSignal(gen::PID to, gen::PID from, const gen::Reason& reason, std::uint64_t ref);
  void DeliverExit(gen::PID to, core::EnvelopePtr signal);
  gen::Result<void> SendExitFrom(gen::PID from, const gen::Target& to, const gen::Reason& reason);
  gen::Result<gen::TimerHandle> SendAfterFrom(const gen::Target& to, core::EnvelopePtr envelope,
                                              std::chrono::nanoseconds delay);
  gen::Result<void> StopAfterQueue(gen::PID pid, const gen::Reason& reason);

  // -- for processes (wait_graph.cc) --
  // After a process has sent a request, before it waits for the answer: if that closes a circle of
  // processes that wait for each other, one of them is told.
  void BreakDeadlock(const Process& caller);
  // The handler of a request gives no answer itself, or none yet.
  void NoteTaken(const core::Envelope& request, CallEdge::Stage stage);
  // The caller of this request was told of a deadlock: nobody waits for the answer.
  [[nodiscard]] bool TakeWithdrawn(const core::Envelope& request) {
    return withdrawn_.Take(request.ref);
  }

  // -- for processes (request_claims.cc) --
  // Before anybody begins with a request that has a deadline. False: its caller was told that it will
  // not be handled.
  [[nodiscard]] bool Begin(const core::Envelope& request);
  // Nobody begins with this request, for its time is up: its caller need not wait for its own timer.
  void ExpireWaitFor(const core::Envelope& request);

  // -- for processes (callee_state.cc) --
  // The number of a Main-lane message that is sent to a process now, compared with those that it has
  // taken out of its mailbox; 0: not known. About right when others send too.
  [[nodiscard]] std::uint32_t TicketOf(gen::PID to, const core::Envelope& envelope) const;
  // Of a reading of the clock, modulo 2^32: for differences of up to 49 days.
  [[nodiscard]] static std::uint32_t Milliseconds(std::int64_t time) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(time) / 1'000'000);
  }
  // A process with its behaviour, for people.
  [[nodiscard]] std::string Describe(gen::PID pid) const;
  // kTimeout, and what the one who was called is doing.
  [[nodiscard]] gen::Error TimeoutError(const CallEdge::View& call) const;
  // kTimeout: the Init of a process has taken longer than it may.
  [[nodiscard]] static gen::Error InitTimeoutError(gen::PID pid, const std::type_info& behavior,
                                                   std::chrono::nanoseconds timeout);

  // -- for processes (runtime.cc) --
  // A process in a fresh slot; the caller has the right to run it.
  gen::Result<Process*> OpenProcess(const SpawnRequest& request);
  // -- for processes (inheritance.cc) --
  // What a process that is about to be spawned is led by (0: itself), and what it inherits; null:
  // nothing.
  [[nodiscard]] std::uint64_t LeaderOf(const SpawnRequest& request) const;
  [[nodiscard]] SharedEnvironment InheritedBy(const SpawnRequest& request);
  void SetEnv(Process& process, std::string_view name, std::optional<std::string> value);
  // Starts a process; `done` is called when its Init has ended, with an error if that failed, maybe on
  // another thread. After an error it is not called.
  gen::Result<gen::PID> SpawnInBackground(const SpawnRequest& request,
                                          std::function<void(gen::Result<void>)> done);
  // The last thing a process does; its slot is free afterwards.
  void ProcessEnded(Process& process, gen::PID pid, const gen::Reason& reason);
  gen::Result<core::Dispatcher*> TakeOwnDispatcher() {
    return own_dispatchers_.Take(dispatcher_->options());
  }
  // The live process with this PID, or null. It may end at any time.
  [[nodiscard]] Process* Find(gen::PID pid) const;
  // Where it lives, or has lived: another may have the slot now.
  [[nodiscard]] Process* FindSlot(gen::PID pid) const;
  // The pool `to`, which has this slot, learns of it once; see ProcessHost::NoteShortage.
  void NoteShortage(PoolSlot& slot, gen::PID to);
  // Where in a pool's rotation the next message tries first.
  [[nodiscard]] std::uint64_t FirstChoice(PoolSlot& slot) const;

  // -- for processes (registry.cc) --
  // Names, aliases, events and periodic sends; `reason` is what subscribers are told.
  void ReleaseNames(Process& process, const gen::Reason& reason);
  gen::Result<gen::Alias> CreateAlias(Process& process);
  gen::Result<void> DeleteAlias(Process& process, gen::Alias alias);

  // -- for processes (publishing.cc) --
  gen::Result<gen::Ref> RegisterEvent(Process& producer, gen::Atom name,
                                      const gen::EventOptions& options);
  gen::Result<void> UnregisterEvent(Process& producer, gen::Atom name);
  // Takes an event away and tells its subscribers.
  void EndEvent(gen::Atom name, gen::PID producer, const gen::Reason& reason);
  // `link`: its end is an exit signal.
  gen::Result<std::vector<gen::MessageEvent>> SubscribeEvent(Process& subscriber,
                                                             const gen::Event& event, bool link);
  gen::Result<void> UnsubscribeEvent(Process& subscriber, const gen::Event& event, bool link);
  // One whose note is gone already.
  void EndSubscription(const ProcessCold::EventSubscription& note, gen::PID subscriber);
  gen::Result<std::size_t> PublishEvent(gen::PID from, gen::Atom name, gen::Ref token,
                                        core::EnvelopePtr value);

  [[nodiscard]] std::uint32_t creation() const { return creation_; }
  [[nodiscard]] const core::Clock& clock() const { return *clock_; }
  [[nodiscard]] core::TimerQueue& timers() { return *timers_; }
  [[nodiscard]] PeriodicSends& periodic_sends() { return periodic_sends_; }
  // The time of day.
  [[nodiscard]] std::chrono::system_clock::time_point Wall() const;
  [[nodiscard]] core::Dispatcher& dispatcher() { return *dispatcher_; }
  // False: one thread runs everything, and nothing may run beside it.
  [[nodiscard]] bool HasThreads() const { return dispatcher_->HasThreads(); }
  [[nodiscard]] LentThreads& lent_threads() { return lent_threads_; }
  // `coarse_now`: of the node's clock.
  [[nodiscard]] TurnBudget NewTurnBudget(TurnPace& pace, std::int64_t coarse_now) const {
    if (options_.clock != nullptr) [[unlikely]]
      coarse_now = MachineTime::CoarseNow();
    return {dispatcher_->options(), pace, coarse_now};
  }
  [[nodiscard]] gen::LogLevel log_level() const { return options_.log_level; }
  // The I/O thread's; aborts the program when the node has its owner's clock, and no I/O.
  [[nodiscard]] asio::io_context& Io();
  [[nodiscard]] gen::Ref MakeRef();
  void WriteLog(gen::LogLevel level, std::string_view line) { logging_.Write(level, line); }
  // False: the node has stopped, or its threads are in another process, and this one is its fork.
  // What all functions of node::Node look at first; then WhyNotUsable, kNodeTerminated, says which.
  [[nodiscard]] bool IsUsable() const {
    return home_.load(std::memory_order_relaxed) == core::ForkCount();
  }
  [[nodiscard]] bool IsForked() const { return started_in_ != core::ForkCount(); }
  [[nodiscard]] gen::Error WhyNotUsable() const;
  // Ends the program, with words, when the end of the node would wait for the calling handler.
  void CheckMayBeDestroyed() const;
  // Nobody is left to deliver to.
  [[nodiscard]] bool IsStopped() const { return stopped_.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint32_t kNowhere = 0xffff'ffff;  // home_: stopped
  static constexpr std::uint64_t kNodeId = 1;  // slot 1, which no process gets, generation 0

  Runtime(gen::Atom name, gen::NodeOptions options, std::shared_ptr<core::Clock> clock,
          std::shared_ptr<core::Dispatcher> dispatcher);

  [[nodiscard]] gen::LogLevel Level() const override { return options_.log_level; }
  void Write(gen::LogLevel level, std::string_view text) override;

  gen::Result<void> AskToHold(const gen::Target& to, gen::EnvelopeKind kind,
                              std::chrono::nanoseconds timeout);
  gen::Result<gen::PID> SpawnFromOutside(const SpawnRequest& request);
  gen::Result<void> CheckMayBlock(const char* function) const;
  gen::Result<void> Reach(gen::PID to) const;
  gen::Result<void> Accept(Process& process, gen::PID to, core::PushOutcome outcome,
                           core::EnvelopePtr& envelope);
  gen::Result<void> PushStop(Process& process, gen::PID pid, const gen::Reason& reason);
  gen::Result<void> DeliverExpress(Process& process, gen::PID to, core::EnvelopePtr& envelope);
  gen::Result<void> Route(Process& pool, gen::PID to, core::EnvelopePtr& envelope);
  gen::Result<void> RefusedByAll(Process& pool, gen::PID to);
  gen::Result<void> RefusedByPool(Process& pool, PoolSlot& slot, gen::PID to,
                                  core::EnvelopePtr& envelope);
  gen::Result<void> RefusedForLoad(PoolSlot& slot, std::chrono::nanoseconds retry_after);
  // What a worker has to do, and how long a message would wait there (ns); the most there is when the
  // process is gone.
  [[nodiscard]] std::uint64_t LoadOf(std::uint64_t worker) const;
  [[nodiscard]] std::int64_t WaitAt(const core::Rotation& rotation, std::uint64_t worker) const;
  // All workers are full: one makes room, or the fallback takes it, or false.
  bool AllFull(Process& pool, PoolSlot& slot, gen::PID to, core::EnvelopePtr& envelope);
  // To a process whose mailbox has a queue of its own.
  gen::Result<void> Enqueue(Process& process, QueueLane& lane, gen::PID to,
                            core::EnvelopePtr& envelope);
  // `pool`: the process's parent.
  void DropOverflow(Process& process, gen::PID pool, core::EnvelopePtr envelope);
  // Its parent; the empty PID if it has ended.
  [[nodiscard]] gen::PID ParentOf(const Process& process, gen::PID pid) const;
  static gen::Overflow OverflowOf(Process& process, gen::PID pid);
  bool ToFallback(Process& process, gen::PID to, core::EnvelopePtr& envelope);
  gen::Result<void> MailboxFull(Process& process, gen::PID to, core::EnvelopePtr& envelope);
  static void Dispatch(Process& process);
  // Null: it has none, or has ended.
  [[nodiscard]] SharedEnvironment EnvironmentOf(gen::PID pid) const;
  // Sends it a MessageEventStart or MessageEventStop.
  template <class Notice>
  void TellProducer(gen::Atom name, gen::PID producer);

  [[nodiscard]] const std::type_info* BehaviorType(gen::PID pid) const;  // null: not known
  [[nodiscard]] gen::PID PidOf(std::uint64_t id) const { return {id, name_, creation_}; }
  // As Respond, but whether the request was withdrawn stays noted.
  gen::Result<void> DeliverResponse(gen::PID from, std::uint64_t ref, core::EnvelopePtr response);
  // Of a request that a process sends through a pool.
  void RedirectCall(gen::PID worker, const core::Envelope& request);
  struct CallLink;
  [[nodiscard]] bool FindCircle(const Process& caller, std::vector<CallLink>& circle) const;

  // callee_state.cc
  [[nodiscard]] std::string CalleeState(const CallEdge::View& call) const;
  [[nodiscard]] std::string PoolState(const PoolSlot& pool, const CallEdge::View& call) const;
  [[nodiscard]] std::string Activity(const Process& process, const CallEdge::View& call) const;

  template <class Counts>
  void CopyDropped(Counts& counts) const;

  // shutdown.cc
  void DoStop(bool force);
  void StopInOrder(std::int64_t deadline);
  void KillAll();
  bool WaitUntilEmpty(std::int64_t deadline);
  std::vector<gen::PID> NewestFirst(bool top_level_only) const;
  void WarnOfBusy();
  void Signalled(int signal);
  static void EndBySignal(void* context, std::uint64_t);
  void TearDown();

  const std::uint32_t started_in_ = core::ForkCount();
  std::atomic<std::uint32_t> home_{started_in_};
  const gen::Atom name_;
  const std::uint32_t creation_;
  const gen::NodeOptions options_;
  const std::shared_ptr<core::Clock> clock_;
  Logging logging_;
  const std::shared_ptr<core::TimerQueue> timers_;
  PendingCalls pending_calls_;
  WithdrawnRequests withdrawn_;
  DropMemory drop_memory_;
  Names names_;
  Aliases aliases_;
  Events events_;
  PeriodicSends periodic_sends_{*this};
  Cron cron_{*this};
  NodeEnvironment environment_;
  node::Applications applications_{*this};
  ProcessTable table_;
  std::shared_ptr<core::Dispatcher> dispatcher_;  // its threads use all of the above
  OwnDispatchers own_dispatchers_;                // theirs too
  LentThreads lent_threads_{own_dispatchers_, options_.blocking_threads};
  std::unique_ptr<Watchdog> watchdog_;  // null: nothing is watched
  std::unique_ptr<IoThread> io_;        // its thread too; null with the caller's own clock

  const std::int64_t started_at_;
  std::atomic<std::uint64_t> spawned_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::array<std::atomic<std::uint64_t>, gen::kDropReasons> dropped_{};
  // Messages sent by others than processes, and by processes that have ended.
  core::StripedCounter accepted_;
  core::StripedCounter handled_by_ended_;

  // The end.
  enum class Phase : std::uint8_t { kRunning, kStopping, kStopped };
  std::mutex stop_mutex_;
  std::atomic<Phase> phase_{Phase::kRunning};
  std::atomic<bool> force_{false};
  std::atomic<bool> no_more_processes_{false};
  std::atomic<bool> stopped_{false};
  core::Event stopped_event_;
  core::Event signalled_;  // or stopped
  // The I/O thread's.
  int signals_ = 0;
  int last_signal_ = 0;
  core::Timer last_resort_{&EndBySignal, this};
  std::thread stopper_;  // when Stop was called from inside a handler
  std::mutex sequence_mutex_;
  std::shared_ptr<StopSequence> sequence_;
  std::atomic<core::Event*> empty_event_{nullptr};  // set when the last process has ended
};

}  // namespace ergon::node
