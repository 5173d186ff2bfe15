// What a process can do: the functions of gen::Process, gen::ProcessHost and gen::PoolHost.
//
//   sending.cc     sending
//   process.cc     children, names, relations, events, groups, environment
//   calls.cc       Call, Receive, Sleep, Yield, AwaitEnd
//   requests.cc    requests without a stack; passing messages on
//   stash.cc       stashing messages
//   pool_host.cc   the functions of gen::PoolHost
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ergon/gen/host/pool_host.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/process/runner.h>
#include <ergon/node/process_state/table.h>

namespace ergon::node {

class Process final : public ProcessRunner, public gen::PoolHost {
 public:
  Process(const Rooms& rooms, std::uint32_t index) : ProcessRunner(rooms, index) {}
  // Returns the kind of slot for a node's table; `rooms` outlives the processes in it.
  [[nodiscard]] static SlotKind Kind(const Rooms& rooms);

  // Begins or ends the recording of what the process sends. Before its turn, on the same thread.
  void RecordSends(bool recorded) { marks_.SetRecorded(recorded); }

  // -- gen::Messenger --
  [[nodiscard]] gen::Result<gen::PID> Resolve(const gen::Target& target) const override;
  gen::Result<void> SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) override;
  gen::Result<void> SendEnvelopeOrWait(const gen::Target& to, core::EnvelopePtr& envelope,
                                       std::chrono::nanoseconds timeout) override;
  gen::Result<core::EnvelopePtr> CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                              std::chrono::nanoseconds timeout) override;
  gen::Result<void> SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                         core::EnvelopePtr response) override;
  gen::Result<gen::TimerHandle> SendEnvelopeAfter(const gen::Target& to,
                                                  core::EnvelopePtr& envelope,
                                                  std::chrono::nanoseconds delay) override;
  gen::Result<gen::TimerHandle> SendEnvelopesEvery(const gen::Target& to,
                                                   std::function<core::EnvelopePtr()> make,
                                                   std::chrono::nanoseconds period) override;
  gen::Result<void> SendExit(const gen::Target& to, gen::Reason reason) override;

  // -- gen::GroupMessenger --
  [[nodiscard]] std::vector<gen::Atom> Groups() const override;
  [[nodiscard]] std::vector<gen::PID> GroupMembers(gen::Atom group) const override;
  [[nodiscard]] gen::Result<gen::PID> OneOf(gen::Atom group) override;
  gen::Result<std::size_t> SendEnvelopesToGroup(
      gen::Atom group, const std::function<core::EnvelopePtr()>& make) override;

  // -- gen::Process --
  [[nodiscard]] gen::PID Self() const override { return ProcessRunner::Self(); }
  [[nodiscard]] gen::Atom Name() const override { return ProcessRunner::Name(); }
  [[nodiscard]] gen::PID Parent() const override { return ProcessRunner::Parent(); }
  [[nodiscard]] gen::PID Leader() const override;
  [[nodiscard]] gen::Node& Node() const override { return rooms_.node; }
  [[nodiscard]] gen::Log Log() override { return Lines(); }
  gen::Result<gen::PID> Spawn(const gen::ProcessFactory& factory,
                              const gen::ProcessOptions& options, const gen::Args& args) override;
  gen::Result<gen::PID> SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                      const gen::ProcessOptions& options,
                                      const gen::Args& args) override;
  gen::Result<void> RegisterName(gen::Atom name) override;
  gen::Result<void> UnregisterName() override;
  gen::Result<gen::Alias> CreateAlias() override;
  gen::Result<void> DeleteAlias(gen::Alias alias) override;
  gen::Result<void> Link(const gen::Target& to, const gen::LinkOptions& options) override;
  gen::Result<void> Unlink(const gen::Target& to) override;
  gen::Result<gen::Ref> Monitor(const gen::Target& to, const gen::MonitorOptions& options) override;
  gen::Result<void> Demonitor(gen::Ref ref) override;
  gen::Result<gen::Ref> RegisterEvent(gen::Atom name, const gen::EventOptions& options) override;
  gen::Result<void> UnregisterEvent(gen::Atom name) override;
  gen::Result<std::vector<gen::MessageEvent>> MonitorEvent(const gen::Event& event) override;
  gen::Result<void> DemonitorEvent(const gen::Event& event) override;
  gen::Result<std::vector<gen::MessageEvent>> LinkEvent(const gen::Event& event) override;
  gen::Result<void> UnlinkEvent(const gen::Event& event) override;
  gen::Result<void> JoinGroup(gen::Atom group) override;
  gen::Result<void> LeaveGroup(gen::Atom group) override;
  gen::Result<std::vector<gen::PID>> MonitorGroup(gen::Atom group) override;
  gen::Result<void> DemonitorGroup(gen::Atom group) override;
  gen::Result<std::size_t> PublishEnvelope(gen::Atom name, gen::Ref token,
                                           core::EnvelopePtr value) override;
  [[nodiscard]] gen::AnyValue FindEnv(std::string_view name) const override;
  [[nodiscard]] gen::Environment EnvList() const override;
  void SetEnv(std::string_view name, gen::AnyValue value) override;
  void SetTrapExit(bool trap) override;
  [[nodiscard]] bool TrapExit() const override { return end_requests_.TrapsExits(); }
  void SetSendPriority(gen::MessagePriority priority) override;
  void SetImportantDelivery(bool important) override;
  [[nodiscard]] bool ImportantDelivery() const override { return marks_.important(); }
  void SetTrace(gen::TraceId trace) override;
  [[nodiscard]] gen::TraceId Trace() const override { return marks_.trace(*this); }
  void SetLogLevel(gen::LogLevel level) override;
  [[nodiscard]] gen::LogLevel LogLevel() const override;
  bool Sleep(std::chrono::nanoseconds duration) override;
  void Yield() override;
  [[nodiscard]] gen::Ref MakeRef() override;
  gen::Result<gen::Ref> RequestEnvelope(gen::PID to, core::EnvelopePtr& request,
                                        std::chrono::nanoseconds timeout) override;
  gen::Result<void> ReceiveEnvelope(gen::Receiver& receiver,
                                    std::chrono::nanoseconds timeout) override;
  [[nodiscard]] std::int64_t Now() const override;

  // -- gen::ProcessHost --
  [[nodiscard]] gen::PoolHost& ForPool() override { return *this; }
  [[nodiscard]] core::EnvelopePtr Detach(core::Envelope& envelope) override;
  [[nodiscard]] core::EnvelopePtr DetachForRequest(core::Envelope& envelope) override;
  gen::Result<void> PassOn(gen::PID to, core::Envelope& envelope, bool may_wait) override;
  gen::Result<void> HandOver(gen::PID to, gen::PID from, gen::Ref ref) override;
  bool ForgetIfAbandoned(std::uint64_t id, gen::PID from, gen::Ref ref) override;
  void Drop(core::EnvelopePtr envelope, gen::DropReason reason, const gen::Error& error) override;
  bool Stash(core::Envelope& envelope) override;
  std::size_t UnstashAll() override;
  void StashOwn(core::EnvelopePtr envelope) override;
  void EnqueueOwn(core::EnvelopePtr envelope) override;
  [[nodiscard]] gen::Receiver* CurrentReceiver() override;
  void SetNext(std::function<gen::Status()> next) override { Cold().next = std::move(next); }
  [[nodiscard]] std::uint64_t WorkMark() const override;
  [[nodiscard]] bool HasWork() const override;
  void SetHeedExits(bool heed) override { end_requests_.SetHeedExits(heed); }
  gen::Result<gen::PID> SpawnChildAsync(gen::Atom name, const gen::ProcessFactory& factory,
                                        const gen::ProcessOptions& options,
                                        const gen::Args& args) override;
  gen::Result<void> StopAfterQueue(gen::PID pid, const gen::Reason& reason) override;
  gen::Result<void> Kill(gen::PID pid) override;
  gen::Result<void> AwaitEnd(gen::PID pid, std::chrono::nanoseconds timeout) override;
  void HoldMain(bool hold) override { HoldMainLane(hold); }
  void SetMailboxSize(std::uint32_t messages) override { mailbox_.SetCapacity(messages); }
  [[nodiscard]] std::uint64_t MainQueued() const override { return mailbox_.MainDepthApprox(); }
  [[nodiscard]] std::uint64_t ExpiredRequests() const override { return Rare().expired.Read(); }
  [[nodiscard]] bool InOwnTurn() const override { return IsInOwnTurn(); }

  // -- gen::PoolHost --
  [[nodiscard]] gen::PoolChange GivenChange() const override;
  void LogChange(std::string_view text) override;
  gen::Result<void> Forward(gen::PID to, core::EnvelopePtr& envelope, bool routed) override;
  gen::Result<void> ForwardMakingRoom(gen::PID worker, core::EnvelopePtr& envelope) override;
  void Adopt(core::Envelope& envelope) override;
  bool LeaveToHeir(core::EnvelopePtr& envelope) override;
  void LeaveBeginningToOthers() override { others_begin_ = true; }
  [[nodiscard]] bool Begin(const core::Envelope& request) override;
  gen::Result<gen::PID> SpawnWorker(const gen::ProcessFactory& factory,
                                    const gen::ProcessOptions& options,
                                    const gen::Args& args) override;
  gen::Result<gen::PID> SpawnWorkerAsync(const gen::ProcessFactory& factory,
                                         const gen::ProcessOptions& options,
                                         const gen::Args& args) override;
  void SetDuty(gen::PID worker, gen::WorkerDuty duty) override;
  void SetWorkerMailboxSize(gen::PID worker, std::uint32_t messages) override;
  void ResumeWorker(gen::PID worker) override;
  [[nodiscard]] gen::WorkerProgress Progress(gen::PID worker) const override;
  [[nodiscard]] bool HasQueue() const override { return taking_.HasQueue(); }
  void SetPoolMakesRoom(bool makes_room) override;
  void SetSenderRules(const gen::SenderRules& rules) override;
  [[nodiscard]] std::uint64_t FirstChoice() const override;
  [[nodiscard]] std::uint64_t OverloadedCount() const override;
  [[nodiscard]] std::uint64_t OverflowedCount() const override;
  void NoteShortage() override;
  bool TryEndShortage() override;
  [[nodiscard]] bool TryCloseMain(std::chrono::nanoseconds retry_after) override;
  [[nodiscard]] core::Rotation& GetRotation() override { return GetPoolSlot().rotation; }
  void SetSettled(std::uint64_t settled, std::uint64_t never_given) override;
  [[nodiscard]] bool TryRedirectMain() override;
  void AcceptMain() override;
  [[nodiscard]] bool IsMainRedirected() const override { return mailbox_.IsRedirected(); }
  [[nodiscard]] std::uint64_t ReturningMessages() override;
  void RefuseMain() override;

 private:
  [[nodiscard]] gen::ProcessHost& Host() noexcept override { return *this; }
  void UseMarks(gen::MessagePriority priority) noexcept override {
    SetDefaultPriority(priority);
    SetHasTrace(false);
  }
  void UseTrace(bool has_trace) noexcept override { SetHasTrace(has_trace); }
  // Returns what `verb` returns; NotInOwnTurn outside of its turns. Sends, calls, answers look by hand: it is quicker.
  template <class Verb>
  std::invoke_result_t<Verb> InTurn(const char* function, Verb verb) {
    if (!IsInOwnTurn()) [[unlikely]]
      return NotInOwnTurn(function);
    return verb();
  }
  gen::Result<gen::PID> SpawnChild(const SpawnRequest& request) {
    return InTurn(FunctionThatSpawns(request), [&] { return MakeChild(request); });
  }
  // Puts stashed messages back into the queue of a mailbox that has one, oldest first. Throws what the queue throws.
  void ReturnToQueue(std::vector<core::EnvelopePtr> stash);
  // The steps of SendEnvelope: a send that is not plain, or outside of a turn; a send with all marks; to a worker of a
  // pool; what remains when the receiver has not taken the envelope at once; and what follows then.
  void Mark(core::Envelope& envelope, gen::PID to);  // what is sent; the empty PID: to a group
  [[gnu::cold, gnu::noinline]] gen::Result<void> SendUnusual(gen::PID to,
                                                             core::EnvelopePtr& envelope);
  gen::Result<void> SendMarked(gen::PID to, core::EnvelopePtr& envelope);
  [[gnu::noinline]] gen::Result<void> SendToWorker(ProcessSlot& pool, gen::PID to,
                                                   core::EnvelopePtr& envelope);
  [[gnu::noinline]] gen::Result<void> CompleteToWorker(ProcessSlot& pool, gen::PID to,
                                                       core::EnvelopePtr& envelope,
                                                       std::uint64_t turn);
  [[gnu::noinline]] gen::Result<void> CompleteSend(Delivery::Attempt attempt, gen::PID to,
                                                   core::EnvelopePtr& envelope);
  [[gnu::noinline]] gen::Result<void> AfterSend(gen::Result<void> sent, gen::PID to,
                                                core::EnvelopePtr& envelope);
  // Sends to another node, whose answer says whether the message is in the mailbox. After an error the envelope is
  // still the caller's. `deadline` as for Wait.
  [[gnu::cold]] gen::Result<void> SendConfirmed(gen::PID to, core::EnvelopePtr& envelope,
                                                std::int64_t deadline);
  [[nodiscard]] bool WantsConfirmation(gen::PID to, const core::EnvelopePtr& envelope) const;
  // Subscribes to an event, or to one of another node, whose answer it awaits. `link`: its end is an exit signal.
  gen::Result<std::vector<gen::MessageEvent>> SubscribeTo(const gen::Event& event, bool link);
  gen::Result<std::vector<gen::MessageEvent>> SubscribeElsewhere(const gen::Event& event,
                                                                 bool link);
  // Delivers to another node when there is room: too much waits for that node.
  [[gnu::cold]] gen::Result<void> DeliverWhenThereIsRoom(gen::PID to, core::EnvelopePtr& envelope);
  gen::Result<void> DeliverForwarded(gen::PID to, core::EnvelopePtr& envelope, bool may_wait);
  [[gnu::cold]] void RecordSend(gen::PID to, const core::Envelope& envelope);
  [[nodiscard]] bool IsBeingEnded() {  // in Init, with those around it
    if (!started_) HeedParents();
    return IsInterrupted();
  }
  struct CallTime {
    std::int64_t begins;
    std::int64_t deadline;  // 0: none
  };
  // Returns when a call begins and must be answered, in Clock ns. `callee`: null if it is of another node.
  [[nodiscard]] CallTime TimeOfCall(const ProcessSlot* callee,
                                    std::chrono::nanoseconds timeout) const;
  // Returns why a call has no answer, and ends its edge.
  [[gnu::noinline]] gen::Error CallUnanswered(const gen::Result<core::AwaitOutcome>& outcome,
                                              CallEdge& edge);
  // If too much waits for the node of `to`, and it may not wait: returns kBusy, with the request as it was.
  gen::Result<core::EnvelopePtr> CallOnce(gen::PID to, core::EnvelopePtr& request,
                                          std::chrono::nanoseconds timeout, bool may_wait);
  [[gnu::cold]] gen::Result<core::EnvelopePtr> CallAgain(gen::PID to, core::EnvelopePtr request);
  // Waits for room for the node of `to`; `deadline` in Clock ns, 0: none. Returns kTimeout, or an error of the wait.
  gen::Result<void> AwaitRoom(gen::PID to, std::int64_t deadline);
  // Sends when it is the turn of this process among the senders that wait for room there. `deadline` as for Wait.
  gen::Result<void> SendInTurn(gen::PID to, core::EnvelopePtr& envelope, std::int64_t deadline);
  void MakeOwn(core::Envelope& envelope) const;  // makes it one of the behaviour's own
};

}  // namespace ergon::node
