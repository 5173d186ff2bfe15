// A slot for processes, and the process that lives in it now.
//
// Slots are recycled, never freed. A PID is a slot's index and generation; the generation changes
// when the process ends, so a late sender finds out by one comparison, without a reference count.
//
// Who may touch what:
//   mailbox_, await_, generation_, the atomics   any thread, by their own protocols
//   cold_                                        any thread, under its lock
//   everything else                              the one with the right to run the process
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/core/dispatcher.h>
#include <ergon/core/messages/await_state.h>
#include <ergon/core/messages/mailbox.h>
#include <ergon/core/schedulable.h>
#include <ergon/core/turns/fiber.h>
#include <ergon/gen/blocking.h>
#include <ergon/gen/mutex.h>
#include <ergon/gen/process_host.h>
#include <ergon/node/lifecycle/node_environment.h>
#include <ergon/node/process/call_edge.h>
#include <ergon/node/process/cold.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/process/message_counts.h>
#include <ergon/node/process/pool_slot.h>
#include <ergon/node/process/queue_lane.h>
#include <ergon/node/process/turn_budget.h>

namespace ergon::core {
class SignalText;
}  // namespace ergon::core

namespace ergon::node {

class Runtime;

// What a spawn asks for.
struct SpawnRequest {
  const gen::ProcessFactory& factory;
  const gen::ProcessOptions& options;
  const gen::Args& args;
  gen::PID parent;
  gen::Atom name = {};
  bool link = false;
  bool heir = false;      // the parent inherits what is not handled
  bool announce = false;  // the parent gets a MessageStarted instead of waiting
};

// The incarnation of its slot that a PID means.
inline std::uint32_t GenerationOf(gen::PID pid) noexcept {
  return static_cast<std::uint32_t>(pid.id >> 32);
}

class Process final : public core::Schedulable, public gen::ProcessHost, private gen::LogSink {
 public:
  Process(Runtime& runtime, std::uint32_t index) : index_(index), runtime_(&runtime) {}
  ~Process() override;

  // The process whose turn runs on this thread, or null.
  static Process* Current() noexcept;
  // A core::OverflowReport: names the process whose turn runs on this thread.
  static void ReportOverflow(core::SignalText& text, std::size_t stack_bytes);
  // What gen::Blocking calls.
  static const gen::BlockingRuntime& BlockingCalls();

  // -- core::Schedulable --
  core::TurnEnd RunTurn() override;

  // -- gen::Messenger --
  [[nodiscard]] gen::Result<gen::PID> Resolve(const gen::Target& target) const override;
  [[nodiscard]] gen::MessagePriority DefaultPriority() const override { return send_priority_; }
  gen::Result<void> SendEnvelope(gen::PID to, core::EnvelopePtr envelope) override;
  gen::Result<core::EnvelopePtr> CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                              std::chrono::nanoseconds timeout) override;
  gen::Result<void> SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                         core::EnvelopePtr response) override;
  gen::Result<gen::TimerHandle> SendEnvelopeAfter(const gen::Target& to, core::EnvelopePtr envelope,
                                                  std::chrono::nanoseconds delay) override;
  gen::Result<gen::TimerHandle> SendEnvelopesEvery(const gen::Target& to,
                                                   std::function<core::EnvelopePtr()> make,
                                                   std::chrono::nanoseconds period) override;
  gen::Result<void> SendExit(const gen::Target& to, gen::Reason reason) override;

  // -- gen::Process --
  [[nodiscard]] gen::PID Self() const override;
  [[nodiscard]] gen::Atom Name() const override;
  [[nodiscard]] gen::PID Parent() const override;
  [[nodiscard]] gen::PID Leader() const override;
  [[nodiscard]] gen::Node& Node() const override;
  [[nodiscard]] gen::Log Log() override { return gen::Log(*this); }
  gen::Result<gen::PID> Spawn(const gen::ProcessFactory& factory,
                              const gen::ProcessOptions& options, const gen::Args& args) override;
  gen::Result<gen::PID> SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                      const gen::ProcessOptions& options,
                                      const gen::Args& args) override;
  gen::Result<void> RegisterName(gen::Atom name) override;
  gen::Result<void> UnregisterName() override;
  gen::Result<gen::Alias> CreateAlias() override;
  gen::Result<void> DeleteAlias(gen::Alias alias) override;
  gen::Result<void> Link(const gen::Target& to) override;
  gen::Result<void> Unlink(const gen::Target& to) override;
  gen::Result<gen::Ref> Monitor(const gen::Target& to) override;
  gen::Result<void> Demonitor(gen::Ref ref) override;
  gen::Result<gen::Ref> RegisterEvent(gen::Atom name, const gen::EventOptions& options) override;
  gen::Result<void> UnregisterEvent(gen::Atom name) override;
  gen::Result<std::vector<gen::MessageEvent>> MonitorEvent(const gen::Event& event) override;
  gen::Result<void> DemonitorEvent(const gen::Event& event) override;
  gen::Result<std::vector<gen::MessageEvent>> LinkEvent(const gen::Event& event) override;
  gen::Result<void> UnlinkEvent(const gen::Event& event) override;
  [[nodiscard]] std::optional<std::string> Env(std::string_view name) const override;
  [[nodiscard]] gen::Environment EnvList() const override;
  void SetEnv(std::string_view name, std::optional<std::string> value) override;
  void SetTrapExit(bool trap) override {
    MustBeInOwnTurn("SetTrapExit");
    trap_exit_.store(trap, std::memory_order_relaxed);
  }
  [[nodiscard]] bool TrapExit() const override {
    return trap_exit_.load(std::memory_order_relaxed);
  }
  void SetSendPriority(gen::MessagePriority priority) override {
    MustBeInOwnTurn("SetSendPriority");
    send_priority_ = priority;
  }
  void SetImportantDelivery(bool important) override {
    MustBeInOwnTurn("SetImportantDelivery");
    important_delivery_ = important;
  }
  [[nodiscard]] bool ImportantDelivery() const override { return important_delivery_; }
  void SetLogLevel(gen::LogLevel level) override {
    MustBeInOwnTurn("SetLogLevel");
    log_level_.store(static_cast<std::uint8_t>(level), std::memory_order_relaxed);
  }
  bool Sleep(std::chrono::nanoseconds duration) override;
  void Yield() override;
  [[nodiscard]] gen::Ref MakeRef() override;
  gen::Result<gen::Ref> RequestEnvelope(gen::PID to, core::EnvelopePtr& request,
                                        std::chrono::nanoseconds timeout) override;
  [[nodiscard]] std::int64_t Now() const override;

  // -- gen::ProcessHost --
  [[nodiscard]] core::EnvelopePtr Detach(core::Envelope& envelope) override;
  [[nodiscard]] core::EnvelopePtr Keep(core::Envelope& envelope) override;
  gen::Result<void> PassOn(gen::PID to, core::Envelope& envelope) override;
  gen::Result<void> HandOver(gen::PID to, gen::PID from, gen::Ref ref) override;
  gen::Result<void> Forward(gen::PID to, core::EnvelopePtr& envelope, bool routed) override;
  gen::Result<void> ForwardMakingRoom(gen::PID worker, core::EnvelopePtr& envelope) override;
  void Adopt(core::Envelope& envelope) override;
  [[nodiscard]] bool Begin(const core::Envelope& request) override;
  void SetHeedExits(bool heed) override { heeds_exits_.store(heed, std::memory_order_relaxed); }
  void LeaveBeginningToOthers() override { others_begin_ = true; }
  void Drop(core::EnvelopePtr envelope, gen::DropReason reason, const gen::Error& error) override;
  bool Bequeath(core::EnvelopePtr& envelope) override;
  bool Stash(core::Envelope& envelope) override;
  std::size_t UnstashAll() override;
  void PutAside(core::EnvelopePtr envelope) override;
  void WaitInLine(core::EnvelopePtr envelope) override;
  gen::Result<gen::PID> SpawnAsync(const gen::ProcessFactory& factory,
                                   const gen::ProcessOptions& options,
                                   const gen::Args& args) override;
  gen::Result<gen::PID> SpawnChildAsync(gen::Atom name, const gen::ProcessFactory& factory,
                                        const gen::ProcessOptions& options,
                                        const gen::Args& args) override;
  gen::Result<gen::PID> SpawnWorker(const gen::ProcessFactory& factory,
                                    const gen::ProcessOptions& options,
                                    const gen::Args& args) override;
  gen::Result<void> StopAfterQueue(gen::PID pid, const gen::Reason& reason) override;
  gen::Result<void> Kill(gen::PID pid) override;
  gen::Result<void> AwaitEnd(gen::PID pid, std::chrono::nanoseconds timeout) override;
  void SetDuty(gen::PID worker, gen::WorkerDuty duty) override;
  [[nodiscard]] gen::WorkerProgress Progress(gen::PID worker) const override;
  void SetSenderRules(const gen::SenderRules& rules) override;
  [[nodiscard]] std::uint64_t FirstChoice() const override;
  [[nodiscard]] std::uint64_t OverloadedCount() const override;
  [[nodiscard]] std::uint64_t OverflowedCount() const override;
  void SetSettled(std::uint64_t settled, std::uint64_t never_given) override;
  void NoteShortage() override;
  void EndShortage() override { GetPoolSlot().shortage.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool TryCloseMain(std::chrono::nanoseconds retry_after) override;
  [[nodiscard]] core::Rotation& GetRotation() override { return GetPoolSlot().rotation; }
  [[nodiscard]] std::uint64_t ReturningMessages() override;
  [[nodiscard]] bool TryRedirectMain() override;
  void AcceptMain() override;
  [[nodiscard]] bool IsMainRedirected() const override { return mailbox_.IsRedirected(); }
  [[nodiscard]] bool TryRefuseMain() override;
  void HoldMain(bool hold) override { hold_main_ = hold; }
  void SetMailboxSize(std::uint32_t messages) override { mailbox_.SetCapacity(messages); }
  [[nodiscard]] bool HasQueue() const override { return has_queue_; }
  void SetPoolMakesRoom(bool makes_room) override {
    GetPoolSlot().makes_room.store(makes_room, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t MainQueued() const override { return mailbox_.MainDepthApprox(); }
  [[nodiscard]] std::uint64_t ExpiredRequests() const override { return Rare().expired.Read(); }
  [[nodiscard]] bool InOwnTurn() const override { return IsCurrentProcess(this); }

  // -- misuse (process_misuse.cc) --
  // Its PID, behaviour and the type of what it handles, for people. In its own turns.
  [[nodiscard]] std::string InHandler() const;

 private:
  static constexpr std::uint8_t kNodeLogLevel = 0xff;  // log_level_: the node's
  // A turn ends after the handler that has made it exceed so many sends: a producer that goes on
  // would fill the caches with messages before their consumer gets a turn.
  static constexpr std::uint32_t kMaxSendsPerTurn = 64;

  friend class AsyncOperation;
  friend class TurnMeter;
  friend class Watchdog;
  friend class Runtime;
  friend class ProcessTable;
  friend class Relations;

  // -- life (process_life.cc) --
  // Fills a free slot. The caller gets the right to run the process.
  gen::Result<void> Open(const SpawnRequest& request,
                         std::unique_ptr<gen::ProcessBehavior> behavior);
  gen::Result<gen::PID> SpawnChild(const SpawnRequest& request);
  // The turn that runs now has stack enough to run the Init of a child too.
  [[nodiscard]] static bool HasStackForInit();
  // Runs Init, on whatever stack this is; false when the process has ended, and `failure` is what its
  // parent is told.
  bool RunInit(gen::Error& failure);
  // Runs Init inside the parent's turn, and leaves the process scheduled or idle.
  bool RunInitInline(gen::Error& failure);
  [[nodiscard]] std::chrono::nanoseconds InitTimeout() const {
    return init_ == nullptr ? gen::kDefaultInitTimeout : init_->timeout;
  }
  // The time of its Init was up: it is killed.
  [[nodiscard]] bool IsInitLate() const { return init_ != nullptr && init_->late; }
  // What its parent is told when its Init has failed.
  [[nodiscard]] gen::Error InitError(const gen::Reason& reason) const {
    return gen::Error(IsInitLate() ? gen::ErrorCode::kTimeout : gen::ErrorCode::kProcessTerminated,
                      reason.ToString());
  }
  // Sorts what a closed mailbox still held: what can be inherited, and what is dropped.
  void DisposeRest(core::Mailbox::Rest& rest, gen::PID self, gen::MessageInheritance& inheritance);
  // A message that comes through a pool carries the pool's id, so that it can go back there.
  // Requests have no room for it. That one pool had to make room for it does not bind the next one.
  static void MarkRouted(core::Envelope& envelope, std::uint64_t pool) {
    UnmarkRouted(envelope);
    envelope.flags |= core::Envelope::kFlagRouted;
    if (!IsRequest(envelope)) envelope.ref = pool;
  }
  static void UnmarkRouted(core::Envelope& envelope) {
    envelope.flags &=
        static_cast<std::uint8_t>(~(core::Envelope::kFlagRouted | core::Envelope::kFlagMakeRoom));
    if (!IsRequest(envelope)) envelope.ref = 0;
  }
  static bool IsRequest(const core::Envelope& envelope) {
    return static_cast<gen::EnvelopeKind>(envelope.kind) == gen::EnvelopeKind::kRequest;
  }
  static bool IsMessage(const core::Envelope& envelope) {
    return gen::IsUserMessage(static_cast<gen::EnvelopeKind>(envelope.kind));
  }
  // Of a periodic send.
  static bool IsTick(const core::Envelope& envelope) {
    return (envelope.flags & core::Envelope::kFlagStamped) != 0;
  }
  static bool IsExpressMessage(const core::Envelope& envelope) {
    return envelope.lane != core::Lane::kMain && IsMessage(envelope);
  }
  // To whom an envelope in this slot's mailbox was sent.
  [[nodiscard]] gen::PID ReceiverOf(const core::Envelope& envelope) const;
  // It has left the mailbox.
  void CountTaken(const core::Envelope& envelope) {
    if (IsExpressMessage(envelope)) [[unlikely]]
      express_queued_.fetch_sub(1, std::memory_order_relaxed);
  }
  // What a sender had on its way when the slot's former process ended: back to its pool, or
  // dropped.
  void DisposeLate(core::EnvelopePtr envelope);
  [[nodiscard]] bool ReturnToPool(core::EnvelopePtr& envelope);
  // As Detach, but a tick that the process puts aside does not keep the next one from coming.
  [[nodiscard]] core::EnvelopePtr TakeOver(core::Envelope& envelope);
  static gen::Error TerminatedError(const gen::Reason& reason);
  void AnswerOpenRequests(ProcessCold& cold, const gen::Error& error);
  void Finish(const gen::Reason& reason);
  // False: whoever has spawned it has not waited so long.
  [[nodiscard]] bool ReportStarted();
  void ReportFailedInit(const gen::Reason& reason);

  // -- its mailbox (process_mailbox.cc) --
  // Null if the mailbox needs none.
  static gen::Result<std::unique_ptr<gen::MailboxQueue>> MakeQueue(const gen::Mailbox& mailbox);
  void OpenMailbox(const gen::ProcessOptions& options, std::unique_ptr<gen::MailboxQueue> queue);
  // Nobody can send any more. What is stashed, and what a queue of its own holds, goes to `waiting`.
  core::Mailbox::Rest CloseMailbox(std::vector<core::EnvelopePtr>& waiting);
  // False: messages of normal priority have to wait, for the behaviour's own reasons, or because it is suspended.
  [[nodiscard]] bool TakesMain() const {
    return (!hold_main_ || HoldIsOver()) && !suspended_.load(std::memory_order_relaxed);
  }
  // A pool that is asked to stop takes what was sent before, however long it would have held that.
  [[nodiscard]] bool HoldIsOver() const { return IsAskedToStop() && IsPool(); }
  // It has workers, alive or not. Any thread.
  [[nodiscard]] bool IsPool() const {
    const PoolSlot* slot = pool_.load(std::memory_order_acquire);  // partner: GetPoolSlot
    return slot != nullptr && slot->rotation.size() != 0;
  }
  // The next one to handle, or null.
  [[nodiscard]] core::Envelope* NextEnvelope() {
    core::Envelope* envelope = mailbox_.Pop(TakesMain());
    if (envelope != nullptr || !has_queue_) [[likely]]
      return envelope;
    return NextInQueue();
  }
  [[nodiscard]] core::Envelope* NextInQueue();
  [[nodiscard]] std::vector<core::EnvelopePtr> TakeStash();
  void MakeOwn(core::Envelope& envelope) const;  // it comes back as one of the behaviour's own
  // Messages that wait in the Main lane: without what the behaviour has put there itself.
  [[nodiscard]] std::uint64_t MainMessagesApprox() const {
    const std::int64_t own = Rare().own_in_main.load(std::memory_order_acquire);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(mailbox_.MainDepthApprox() - own, 0));
  }
  // Release: before the mailbox shows that it has them.
  void CountOwnInMain(std::int64_t envelopes) {
    auto& own = Cold().counts.own_in_main;
    own.store(own.load(std::memory_order_relaxed) + envelopes, std::memory_order_release);
  }
  // Answers the one who asked, when there is one.
  void SetSuspended(core::Envelope& envelope);
  // Messages that it has to handle, the one that it handles included. Any thread.
  [[nodiscard]] std::uint64_t LoadApprox() const {
    const auto state = static_cast<gen::ProcessState>(state_.load(std::memory_order_relaxed));
    const bool busy = state == gen::ProcessState::kRunning || state == gen::ProcessState::kWaiting;
    return MainMessagesApprox() + AsideApprox() + (busy ? 1 : 0);
  }
  [[nodiscard]] std::uint64_t AsideApprox() const {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(Rare().held.load(std::memory_order_relaxed), 0));
  }

  // -- turns (process_turn.cc) --
  core::TurnEnd RunMessages();
  void HandleEnvelope(core::Envelope& envelope);
  void HandleInheritance(core::Envelope& envelope);
  void HandleExit(core::Envelope& envelope);
  bool HandleDown(core::Envelope& envelope);
  bool HandleMessage(core::Envelope& envelope);  // false: its timer was cancelled
  bool HandleRequest(core::Envelope& envelope);  // false: it has expired
  // A request, or an inspection. False: its caller was told, or is told now, that its time is up.
  [[nodiscard]] bool MayBegin(const core::Envelope& request);
  void ReportProgress();
  // Of one that came through the pool, handled since `began`.
  void DoDuty(gen::WorkerDuty duty, std::int64_t began);
  void AskToStop(const gen::Reason& reason);
  void NoteStatus(const gen::Status& status);
  void NoteOpenRequest(const core::Envelope& envelope);
  void TakeOverRequest(const core::Envelope& notice);
  template <class Function>
  void Guarded(Function&& function);              // an exception becomes the reason to end
  [[nodiscard]] gen::Reason PanicReason() const;  // inside of a catch (...)
  // For those who look from outside; see Runtime::TimeoutError.
  void NoteHandling(const core::Envelope& envelope) {
    handling_ref_.store(static_cast<std::uint32_t>(envelope.ref), std::memory_order_relaxed);
    current_type_.store(envelope.type, std::memory_order_relaxed);
    if (has_waited_) [[unlikely]]
      (void)NoteTime();
  }
  std::int64_t NoteTime();  // the coarse one, once in a turn and after each wait
  // The envelope being handled waits for an answer that was not sent yet.
  [[nodiscard]] bool IsOpenQuestion() const {
    if (current_ == nullptr || answered_) return false;
    const auto kind = static_cast<gen::EnvelopeKind>(current_->kind);
    return kind == gen::EnvelopeKind::kRequest || kind == gen::EnvelopeKind::kInspect;
  }
  [[nodiscard]] bool IsKilled() const {
    return killed_.load(std::memory_order_relaxed) == generation_.load(std::memory_order_relaxed);
  }
  // Any thread. The slot may have a later process, which may have been asked, too: that stays.
  void NoteStopAsked(std::uint32_t generation) {
    std::uint32_t noted = stopping_.load(std::memory_order_relaxed);
    while (static_cast<std::int32_t>(generation - noted) > 0 &&
           !stopping_.compare_exchange_weak(noted, generation, std::memory_order_seq_cst)) {
    }
  }
  [[nodiscard]] bool IsAskedToStop() const {
    return stopping_.load(std::memory_order_seq_cst) == generation_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool MustEnd() const { return ending_ || IsKilled(); }

  // -- requests without a stack (process_request.cc) --
  // Any thread: the outcome of a request that a process in this slot has made, on its way to
  // HandleResponse. False: nobody waits for it (any more).
  [[nodiscard]] bool AcceptResponse(std::uint64_t id, core::EnvelopePtr response);
  [[nodiscard]] bool AwaitsResponse(std::uint64_t id) const;
  // The outcome, once its entry has been taken out. False: that process has ended.
  bool TellOutcome(std::uint64_t id, std::uint64_t generation, core::EnvelopePtr response);
  void ExpireRequest(std::uint64_t id);
  static void RequestTimeIsUp(void* context, std::uint64_t id);
  // Of any request that a process in this slot waits for; see core::AwaitState::NoteBegun.
  [[nodiscard]] bool NoteBegun(std::uint64_t id);
  // What came through the pool and goes on elsewhere: as far as the pool knows, it is done.
  void NoteRoutedHandled() {
    current_routed_.store(false, std::memory_order_relaxed);
    routed_handled_.AddAndRelease();  // partner: Progress
  }

  // -- misuse (process_misuse.cc) --
  // kNotAllowed, with the name of the function that was called outside of this process's turns.
  [[nodiscard, gnu::cold]] gen::Error NotInOwnTurn(const char* function) const;
  // The same for functions that have no error to return: ends the program.
  void MustBeInOwnTurn(const char* function) const {
    if (!InOwnTurn()) [[unlikely]]
      EndForMisuse(function);
  }
  [[noreturn, gnu::cold]] void EndForMisuse(const char* function) const;
  // Throws std::logic_error if a gen::Mutex is held.
  void CheckMaySuspend(const char* function) const {
    if (gen::detail::HeldMutexes() != 0) [[unlikely]]
      throw std::logic_error(HeldMutexText(function));
  }
  [[nodiscard, gnu::cold]] std::string HeldMutexText(const char* function) const;

  // -- waiting (process_wait.cc) --
  // Before it is sent.
  void MarkImportant(core::Envelope& envelope) const {
    if (important_delivery_) [[unlikely]]
      envelope.flags |= core::Envelope::kFlagImportant;
  }
  // After a message was sent: gives way if it should.
  void MaybeYield() {
    if (yield_on_send_ && sends_ > kMaxSendsPerTurn) [[unlikely]]
      if (gen::detail::HeldMutexes() == 0) Yield();
  }
  // Waits for the outcome of the await_ that has begun. `deadline` in Clock ns; 0: none.
  gen::Result<core::AwaitOutcome> Wait(std::uint64_t id, std::int64_t deadline,
                                       core::Envelope*& response) {
    if (!started_) [[unlikely]]
      return WaitInInit(id, deadline, response);
    return WaitOnce(id, deadline, response);
  }
  gen::Result<core::AwaitOutcome> WaitOnce(std::uint64_t id, std::int64_t deadline,
                                           core::Envelope*& response);
  // The process is killed when the time of its Init is up.
  gen::Result<core::AwaitOutcome> WaitInInit(std::uint64_t id, std::int64_t deadline,
                                             core::Envelope*& response);
  static void ExpireInit(void* context, std::uint64_t id);
  // -- blocking stretches (process_blocking.cc) --
  bool BeginBlocking() noexcept;
  void EndBlocking() noexcept;
  static void LendHook(void* context, core::Fiber& fiber);
  static void ReturnHook(void* context, core::Fiber& fiber);

  static void ParkHook(void* context, core::Fiber& fiber);
  static void YieldHook(void* context, core::Fiber& fiber);
  static void ExpireWait(void* context, std::uint64_t id);
  // With the right to run: true when the parked fiber has to be resumed, false when the right was
  // given up.
  bool SettleParked();
  bool IsInterrupted();

  // -- others --
  ProcessCold& Cold() const;  // makes it
  [[nodiscard]] SharedEnvironment GetEnvironment() const {
    return environment_ == nullptr ? nullptr : *environment_;
  }
  [[nodiscard]] ProcessCold* ColdIfAny() const {
    return cold_.load(std::memory_order_acquire);  // partner: Cold
  }
  // For reading.
  [[nodiscard]] const RareCounts& Rare() const {
    static const RareCounts none;
    const ProcessCold* cold = ColdIfAny();
    return cold == nullptr ? none : cold->counts;
  }
  // The behaviour has got hold of so many messages, or has let go of them.
  void Hold(std::int64_t messages) {
    auto& held = Cold().counts.held;
    held.store(held.load(std::memory_order_relaxed) + messages, std::memory_order_relaxed);
  }
  void CountExpired() {
    Cold().counts.expired.Add();
    counts_.Expired();
  }
  // After its handler was called for a message.
  void CountGiven() noexcept {
    if (current_ == nullptr) [[unlikely]] {  // detached: somebody else's now
      counts_.PassedOn();
    } else {
      counts_.Handled();
    }
  }
  // The slot's, or null.
  [[nodiscard]] QueueLane* GetQueueLane() const {
    const ProcessCold* cold = ColdIfAny();
    // Acquire; partner: OpenMailbox.
    return cold == nullptr ? nullptr : cold->queue_lane.load(std::memory_order_acquire);
  }
  // Under the lock of cold_: the slot still has the process with this PID, and it has not ended.
  [[nodiscard]] bool IsStill(gen::PID pid) const {
    return generation_.load(std::memory_order_relaxed) == GenerationOf(pid) &&
           !relations_closed_.load(std::memory_order_seq_cst);
  }
  // The slot has the process with this PID, or its end is not complete: what it left behind is still
  // being answered and counted. False is certain; true only under the lock of cold_, where the end
  // waits. Sequentially consistent, as is making cold_; partner: Finish, then Runtime::ProcessEnded,
  // which looks at cold_ afterwards.
  [[nodiscard]] bool IsYetToEnd(gen::PID pid) const {
    const std::uint32_t generation = generation_.load(std::memory_order_seq_cst);
    const bool is_closed = relations_closed_.load(std::memory_order_seq_cst);
    const bool is_finishing =
        is_closed && state_.load(std::memory_order_seq_cst) ==
                         static_cast<std::uint8_t>(gen::ProcessState::kTerminating);
    if (generation == GenerationOf(pid)) return !is_closed || is_finishing;
    return generation == GenerationOf(pid) + 1 && is_finishing;
  }
  // A pool that is a worker of another has handled what its own workers have, and what has come to its end
  // there otherwise: that is its own affair, with its own counters. As far as it is known from workers
  // that have ended. Any thread.
  [[nodiscard]] std::uint64_t SettledByPool() const noexcept {
    const PoolSlot* pool = pool_.load(std::memory_order_acquire);  // partner: GetPoolSlot
    if (pool == nullptr) return 0;
    return pool->settled.load(std::memory_order_relaxed) +
           pool->overflowed.load(std::memory_order_relaxed);
  }
  // Adds what shows at the workers of the pool that `progress` is of.
  void AddWorkersOf(const PoolSlot& pool, gen::WorkerProgress& progress) const;
  // To the nearest heir that lives; false: there is none.
  bool LeaveToHeir(core::EnvelopePtr& inheritance);
  PoolSlot& GetPoolSlot();
  CallEdge& GetCallEdge();
  // What it waits for in a Call. Sequentially consistent, as is the edge itself; partner: GetCallEdge.
  [[nodiscard]] CallEdge::View Waited() const noexcept {
    const CallEdge* edge = call_edge_.load(std::memory_order_seq_cst);
    return edge == nullptr ? CallEdge::View() : edge->Read();
  }
  // Its id, if that is certain, or 0.
  [[nodiscard]] std::uint64_t WaitedForCertain() const noexcept {
    const CallEdge* edge = call_edge_.load(std::memory_order_seq_cst);
    return edge == nullptr ? 0 : edge->CertainId();
  }
  [[nodiscard]] gen::LogLevel Level() const override;
  void Write(gen::LogLevel level, std::string_view text) override;
  gen::Result<std::size_t> PublishEnvelope(gen::Atom name, gen::Ref token,
                                           core::EnvelopePtr value) override;
  // Any thread. It ends the process, whatever the behaviour thinks of it.
  [[nodiscard]] bool IsStopSignal(const core::Envelope& envelope) const;
  // It ends what the process waits for: one of those, or one that the behaviour will end with.
  [[nodiscard]] bool EndsWaits(const core::Envelope& envelope) const;
  [[nodiscard]] bool IsStopSignal(const core::Envelope& envelope, bool traps_exits) const;

  struct InitRequest {
    gen::Args args;
    std::uint64_t ref = 0;  // the parent waits for the outcome; 0: not so
    std::chrono::nanoseconds timeout = gen::kDefaultInitTimeout;
    bool late = false;  // its time was up
  };
  [[nodiscard]] InitRequest& GetInit() {
    if (init_ == nullptr) init_ = std::make_unique<InitRequest>();
    return *init_;
  }

  // Hot: every send and every turn.
  core::Mailbox mailbox_;
  std::atomic<std::uint32_t> generation_{1};
  // The generation that has been killed; others are former ones. Set by Runtime::Kill, so that not
  // even an urgent message before the signal is handled, and by the signal.
  std::atomic<std::uint32_t> killed_{0};
  // The generation that has been asked to stop after what waits in its mailbox.
  std::atomic<std::uint32_t> stopping_{0};
  const std::uint32_t index_;
  std::atomic<bool> trap_exit_{false};
  std::atomic<bool> heeds_exits_{false};  // although it traps them
  std::atomic<std::uint8_t> log_level_{0};
  std::atomic<std::uint8_t> state_{0};  // gen::ProcessState, for inspection
  std::uint32_t sends_ = 0;             // in this turn
  core::AwaitState await_;
  // The id of the child whose Init runs inside this process's turn, or 0. A signal that ends this
  // process ends that child too, so that an Init that waits does not hold it up.
  std::atomic<std::uint64_t> starting_child_{0};
  std::atomic<PoolSlot*> pool_{nullptr};
  std::atomic<CallEdge*> call_edge_{nullptr};  // the slot's, made by the first Call
  core::Dispatcher* dispatcher_ = nullptr;
  core::Fiber* parked_ = nullptr;
  std::unique_ptr<gen::ProcessBehavior> behavior_;
  core::Envelope* current_ = nullptr;  // being handled; null when it was detached
  // Messages of high priorities that wait. It belongs to the slot: what arrives late counts too.
  std::atomic<std::int32_t> express_queued_{0};
  bool started_ = false;   // Init has succeeded
  bool ending_ = false;    // end_reason_ is set
  bool answered_ = false;  // current_ is a request and has its response
  bool hold_main_ = false;
  std::atomic<bool> suspended_{false};
  bool has_queue_ = false;  // Main is kept in the queue lane
  bool yield_on_send_ = false;
  // What ends a wait before its outcome is there, besides its time-out.
  enum class Interruption : std::uint8_t {
    kSignals,       // those that end the process
    kSignalsStops,  // being asked to stop, too
    kNothing,
  };
  Interruption interruption_ = Interruption::kSignals;
  bool important_delivery_ = false;
  bool yielded_ = false;  // parked_ waits for its next turn, for nothing else
  gen::MessagePriority send_priority_ = gen::MessagePriority::kNormal;
  bool current_failed_ = false;  // its handler threw
  bool heir_ : 1 = false;        // the parent inherits
  bool announce_ : 1 = false;    // the parent gets MessageStarted
  bool detached_ : 1 = false;
  bool others_begin_ : 1 = false;  // with requests of the Main lane
  bool has_waited_ = false;        // since handling_since_
  TurnPace pace_;
  std::atomic<bool> relations_closed_{true};
  // Read by inspection: current_ came through the pool, and is not counted yet.
  std::atomic<bool> current_routed_{false};
  std::atomic<gen::WorkerDuty> duty_{gen::WorkerDuty::kNone};
  MessageCounts counts_;
  core::SingleWriterCounter routed_handled_;
  // What it handles, or handled last; null: a signal, or Init.
  std::atomic<const core::TypeDescriptor*> current_type_{nullptr};
  // For those whose calls have timed out: that message, and since when.
  std::atomic<std::uint32_t> handling_ref_{0};    // the lower half of its ref: enough to be told
  std::atomic<std::uint32_t> handling_since_{0};  // Runtime::Milliseconds

  // Cold.
  Runtime* const runtime_;
  std::atomic<std::uint64_t> parent_id_{0};  // always of this node
  std::atomic<std::uint64_t> leader_id_{0};  // too
  // Changed in its turns, under the lock of cold_, under which others read it.
  std::unique_ptr<SharedEnvironment> environment_;  // null: nothing; a word, for all have one
  std::unique_ptr<const gen::Reason> end_reason_;   // null: normal
  mutable std::atomic<ProcessCold*> cold_{nullptr};
  std::unique_ptr<InitRequest> init_;  // until Init is done; null: nothing special
  std::int64_t started_at_ = 0;
  std::atomic<std::uint64_t> sequence_{0};  // order of spawning
};

}  // namespace ergon::node
