// A process without a node: the runtime's side of the contract, played step by step by the test.
//
// Deliver() is what a sender does, Run() what the process's turns do. Workers are lists of messages
// that the test lets them handle. Time moves only by Advance().
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ergon/core/messages/rotation.h>
#include <ergon/gen/host/pool_host.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/process_behavior.h>

namespace ergon::act::testing {

struct Job {
  int number = 0;
};

class FakeHost final : public gen::PoolHost, private gen::LogSink {
 public:
  struct Worker {
    gen::PID pid;
    bool alive = true;
    bool killed = false;
    std::size_t capacity = 0;  // 0: unbounded
    bool is_resumed = false;
    gen::Overflow overflow = gen::Overflow::kReject;
    std::deque<core::EnvelopePtr> queue;
    std::uint64_t handled = 0;
    bool busy = false;
    gen::WorkerDuty duty = gen::WorkerDuty::kNone;
  };
  struct Response {
    gen::PID to;
    gen::Ref ref;
    core::EnvelopePtr envelope;
  };
  struct Asked {  // a Request that waits for its answer
    gen::PID to;
    gen::Ref ref;
    core::EnvelopePtr envelope;
    std::chrono::nanoseconds timeout;
  };
  struct Dropped {
    int number;  // of a Job, else 0
    gen::DropReason reason;
    gen::Error error;
  };
  struct LogLine {
    gen::LogLevel level;
    std::string text;
  };

  static constexpr std::uint64_t kSelf = 1;
  static constexpr std::uint64_t kParent = 2;
  static constexpr std::uint64_t kClient = 3;

  static gen::PID Pid(std::uint64_t id) { return {id, "test@localhost", 7}; }

  // -- the runtime --

  // Init; false: it has stopped.
  bool Start(gen::ProcessBehavior& behavior, const gen::Args& args = {}) {
    behavior_ = &behavior;
    started = Note([&] { return behavior.ProcessInit(*this, args); });
    if (started) Run();
    return started;
  }

  // What a sender does.
  gen::Result<void> Deliver(core::EnvelopePtr envelope) {
    if (!envelope->from.id) envelope->from = Pid(kClient).ToAddress();
    if (envelope->lane == core::Lane::kUrgent) {
      urgent.push_back(std::move(envelope));
    } else if (envelope->lane == core::Lane::kSystem) {
      system.push_back(std::move(envelope));
    } else if (refused) {
      return gen::ErrProcessTerminated;
    } else if (redirected && rules.choice == gen::SenderChoice::kPool) {
      rotation.Refused();
      if (retry_after.count() != 0) return gen::Error::Overloaded(retry_after);
      NoteShortage();
      return gen::ErrProcessMailboxFull;
    } else if (redirected) {
      return Route(std::move(envelope));
    } else if (mailbox_size != 0 && main.size() >= mailbox_size) {
      if (rotation.size() == 0) return gen::ErrProcessMailboxFull;
      rotation.Refused();
      NoteShortage();
      return gen::ErrProcessMailboxFull;
    } else {
      main.push_back(std::move(envelope));
    }
    return {};
  }
  template <class T>
  gen::Result<void> Deliver(gen::EnvelopeKind kind, core::Lane lane, T value,
                            std::uint64_t ref = 0) {
    auto envelope = core::MakeEnvelope<T>(static_cast<std::uint8_t>(kind), lane, std::move(value));
    envelope->ref = ref;
    return Deliver(std::move(envelope));
  }
  gen::Result<void> Send(int number) {
    return Deliver(gen::EnvelopeKind::kMessage, core::Lane::kMain, Job{number});
  }

  // Handles messages until there are none, or the process has ended.
  void Run() {
    while (!ended && Step()) {
    }
  }
  bool Step() {
    auto* lane = !urgent.empty()                  ? &urgent
                 : !system.empty()                ? &system
                 : !main.empty() && !main_is_held ? &main
                                                  : nullptr;
    if (lane == nullptr) return false;
    current_ = std::move(lane->front());
    lane->pop_front();
    Handle(*current_);
    current_.reset();
    return true;
  }

  void Advance(std::chrono::nanoseconds time) {
    const std::int64_t end = now + time.count();
    while (!ended) {
      auto next = std::min_element(timers.begin(), timers.end(),
                                   [](auto& a, auto& b) { return a.first < b.first; });
      if (next == timers.end() || next->first > end) break;
      now = next->first;
      core::EnvelopePtr envelope = std::move(next->second);
      timers.erase(next);
      (void)Deliver(std::move(envelope));
      Run();
    }
    now = end;
  }

  // The process is asked to end, as by an exit signal of its parent.
  void Stop(const gen::Reason& reason) {
    Note([&] { return behavior_->ProcessStop(reason); });
    Run();
  }

  // -- workers --

  Worker& At(gen::PID pid) { return workers.at(pid.id); }
  Worker& At(std::uint64_t id) { return workers.at(id); }
  // Jobs that wait at a worker.
  std::vector<int> Queue(std::uint64_t id) {
    std::vector<int> numbers;
    for (auto& envelope : At(id).queue) {
      if (auto* job = envelope->ValueAs<Job>()) numbers.push_back(job->number);
    }
    return numbers;
  }
  // Lets a worker handle its queue, or `count` of it. A StopAfterThis ends it.
  void Work(std::uint64_t id, std::size_t count = SIZE_MAX) {
    Worker& worker = At(id);
    while (count-- > 0 && worker.alive && !worker.queue.empty()) {
      core::EnvelopePtr envelope = std::move(worker.queue.front());
      worker.queue.pop_front();
      if (auto* reason = envelope->ValueAs<gen::Reason>()) return End(id, *reason);
      if (auto* job = envelope->ValueAs<Job>()) done.push_back(job->number);
      if ((envelope->flags & core::Envelope::kFlagRouted) == 0) continue;
      ++worker.handled;
      if (worker.duty == gen::WorkerDuty::kReport) {
        core::EnvelopePtr report = core::MakeSignal(
            static_cast<std::uint8_t>(gen::EnvelopeKind::kProgress), core::Lane::kSystem);
        report->from = worker.pid.ToAddress();
        (void)Deliver(std::move(report));
      }
    }
  }
  // A worker ends. `holds_current`: in the middle of its first message.
  void End(std::uint64_t id, const gen::Reason& reason, bool holds_current = false) {
    Worker& worker = At(id);
    worker.alive = false;
    if (holds_current) worker.queue.pop_front();
    gen::MessageInheritance left{worker.pid, reason, {}, worker.handled, holds_current};
    for (auto& envelope : worker.queue) {
      if (envelope->ValueAs<gen::Reason>() == nullptr) left.messages.push_back(std::move(envelope));
    }
    worker.queue.clear();
    Signal(gen::EnvelopeKind::kInheritance, std::move(left), worker.pid);
    Signal(gen::EnvelopeKind::kExit, gen::MessageExitPID{worker.pid, reason}, worker.pid);
  }
  // The Init of a worker of SpawnWorkerAsync is done.
  void Ready(std::uint64_t id) {
    Signal(gen::EnvelopeKind::kStarted, gen::MessageStarted{At(id).pid}, At(id).pid);
  }
  template <class T>
  void Signal(gen::EnvelopeKind kind, T value, gen::PID from) {
    auto envelope = core::MakeEnvelope<T>(static_cast<std::uint8_t>(kind), core::Lane::kUrgent,
                                          std::move(value));
    envelope->from = from.ToAddress();
    (void)Deliver(std::move(envelope));
  }
  std::uint64_t LastWorker() const { return workers.rbegin()->first; }

  // Answers the oldest request, as a process would, or its failure does.
  template <class T>
  void Respond(T value, gen::EnvelopeKind kind = gen::EnvelopeKind::kResponse) {
    const Asked request = std::move(asked.front());
    asked.pop_front();
    auto envelope = core::MakeEnvelope<T>(static_cast<std::uint8_t>(kind), core::Lane::kSystem,
                                          std::move(value));
    envelope->from = request.to.ToAddress();
    envelope->ref = request.ref.id;
    (void)Deliver(std::move(envelope));
  }

  // -- gen::Messenger --

  gen::Result<gen::PID> Resolve(const gen::Target& target) const override {
    if (const gen::PID* pid = target.AsPID()) return *pid;
    return gen::ErrProcessUnknown;
  }
  gen::Result<void> SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) override {
    envelope->from = Self().ToAddress();
    sent.emplace_back(to, std::move(envelope));
    return {};
  }
  gen::Result<core::EnvelopePtr> CallEnvelope(gen::PID, core::EnvelopePtr,
                                              std::chrono::nanoseconds) override {
    return gen::ErrTimeout;
  }
  gen::Result<void> SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                         core::EnvelopePtr response) override {
    for (const Response& earlier : responses) {
      if (earlier.ref == ref) return gen::ErrResponseIgnored;
    }
    responses.push_back({from, ref, std::move(response)});
    return {};
  }
  gen::Result<void> SendEnvelopeOrWait(const gen::Target&, core::EnvelopePtr&,
                                       std::chrono::nanoseconds) override {
    return gen::ErrUnsupported;
  }
  gen::Result<gen::TimerHandle> SendEnvelopeAfter(const gen::Target&, core::EnvelopePtr& envelope,
                                                  std::chrono::nanoseconds delay) override {
    envelope->from = Self().ToAddress();
    timers.emplace_back(now + delay.count(), std::move(envelope));
    return gen::TimerHandle();
  }
  gen::Result<gen::TimerHandle> SendEnvelopesEvery(const gen::Target& to,
                                                   std::function<core::EnvelopePtr()> make,
                                                   std::chrono::nanoseconds period) override {
    core::EnvelopePtr tick = make();  // the first one
    return SendEnvelopeAfter(to, tick, period);
  }
  gen::Result<void> SendExit(const gen::Target&, gen::Reason) override { return {}; }

  // -- gen::GroupMessenger --

  std::vector<gen::Atom> Groups() const override { return {}; }
  std::vector<gen::PID> GroupMembers(gen::Atom) const override { return {}; }
  gen::Result<gen::PID> OneOf(gen::Atom) override { return gen::ErrProcessUnknown; }
  gen::Result<std::size_t> SendEnvelopesToGroup(
      gen::Atom, const std::function<core::EnvelopePtr()>&) override {
    return std::size_t{0};
  }

  // -- gen::Process --

  gen::PID Self() const override { return Pid(kSelf); }
  gen::Atom Name() const override { return "fake"; }
  gen::PID Parent() const override { return Pid(kParent); }
  gen::PID Leader() const override { return Pid(kSelf); }
  gen::Node& Node() const override { throw std::logic_error("there is no node"); }
  gen::Log Log() override { return gen::Log(*this); }
  gen::Result<gen::PID> Spawn(const gen::ProcessFactory& factory,
                              const gen::ProcessOptions& options, const gen::Args& args) override {
    return SpawnWorker(factory, options, args);
  }
  gen::Result<gen::PID> SpawnRegister(gen::Atom, const gen::ProcessFactory&,
                                      const gen::ProcessOptions&, const gen::Args&) override {
    return gen::ErrUnsupported;
  }
  gen::Result<void> RegisterName(gen::Atom) override { return {}; }
  gen::Result<void> UnregisterName() override { return {}; }
  gen::Result<gen::Alias> CreateAlias() override { return gen::Alias{}; }
  gen::Result<void> DeleteAlias(gen::Alias) override { return {}; }
  gen::Result<void> Link(const gen::Target&, const gen::LinkOptions&) override { return {}; }
  gen::Result<void> Unlink(const gen::Target&) override { return {}; }
  gen::Result<gen::Ref> Monitor(const gen::Target&, const gen::MonitorOptions&) override {
    return gen::Ref{};
  }
  gen::Result<void> Demonitor(gen::Ref) override { return {}; }
  gen::Result<gen::Ref> RegisterEvent(gen::Atom, const gen::EventOptions&) override {
    return gen::Ref{};
  }
  gen::Result<void> UnregisterEvent(gen::Atom) override { return {}; }
  gen::Result<std::vector<gen::MessageEvent>> MonitorEvent(const gen::Event&) override {
    return std::vector<gen::MessageEvent>();
  }
  gen::Result<void> DemonitorEvent(const gen::Event&) override { return {}; }
  gen::Result<std::vector<gen::MessageEvent>> LinkEvent(const gen::Event&) override {
    return std::vector<gen::MessageEvent>();
  }
  gen::Result<void> UnlinkEvent(const gen::Event&) override { return {}; }
  gen::Result<void> JoinGroup(gen::Atom) override { return {}; }
  gen::Result<void> LeaveGroup(gen::Atom) override { return {}; }
  gen::Result<std::vector<gen::PID>> MonitorGroup(gen::Atom) override {
    return std::vector<gen::PID>();
  }
  gen::Result<void> DemonitorGroup(gen::Atom) override { return {}; }
  gen::AnyValue FindEnv(std::string_view) const override { return {}; }
  gen::Environment EnvList() const override { return {}; }
  void SetEnv(std::string_view, gen::AnyValue) override {}
  void SetTrapExit(bool trap) override { traps_exit = trap; }
  bool TrapExit() const override { return traps_exit; }
  void SetSendPriority(gen::MessagePriority) override {}
  void SetTrace(gen::TraceId) override {}
  [[nodiscard]] gen::TraceId Trace() const override { return 0; }
  void SetImportantDelivery(bool) override {}
  bool ImportantDelivery() const override { return false; }
  void SetLogLevel(gen::LogLevel) override {}
  gen::LogLevel LogLevel() const override { return gen::LogLevel::kInfo; }
  bool Sleep(std::chrono::nanoseconds) override { return true; }
  void Yield() override {}
  gen::Ref MakeRef() override { return {++next_ref_, "test@localhost", 7}; }
  std::int64_t Now() const override { return now; }
  gen::Result<gen::Ref> RequestEnvelope(gen::PID to, core::EnvelopePtr& request,
                                        std::chrono::nanoseconds timeout) override {
    auto found = workers.find(to.id);
    if (found == workers.end() || !found->second.alive) return gen::ErrProcessTerminated;
    const gen::Ref ref = MakeRef();
    request->from = Self().ToAddress();
    request->ref = ref.id;
    asked.push_back({to, ref, std::move(request), timeout});
    return ref;
  }

  gen::Result<void> ReceiveEnvelope(gen::Receiver&, std::chrono::nanoseconds) override {
    return gen::ErrNotAllowed;
  }

  // -- gen::ProcessHost and gen::PoolHost --

  gen::PoolHost& ForPool() override { return *this; }
  core::EnvelopePtr Detach(core::Envelope& envelope) override {
    if (current_.get() != &envelope) throw std::logic_error("not the envelope being handled");
    return std::move(current_);
  }
  core::EnvelopePtr DetachForRequest(core::Envelope& envelope) override { return Detach(envelope); }
  gen::Result<void> PassOn(gen::PID to, core::Envelope& envelope, bool) override {
    core::EnvelopePtr passed = Detach(envelope);
    auto result = Forward(to, passed, false);
    if (!result) current_ = std::move(passed);
    return result;
  }
  gen::Result<void> HandOver(gen::PID, gen::PID, gen::Ref) override { return {}; }
  bool ForgetIfAbandoned(std::uint64_t id, gen::PID, gen::Ref ref) override {
    if (!abandoned.contains(ref.id)) return false;
    return std::erase_if(asked, [id](const Asked& request) { return request.ref.id == id; }) != 0;
  }
  gen::Result<void> Forward(gen::PID to, core::EnvelopePtr& envelope, bool routed) override {
    if (routed) envelope->flags |= core::Envelope::kFlagRouted;
    auto found = workers.find(to.id);
    if (found == workers.end()) return gen::ErrProcessUnknown;
    Worker& worker = found->second;
    if (!worker.alive) return gen::ErrProcessTerminated;
    if (worker.capacity != 0 && worker.queue.size() >= worker.capacity) {
      return gen::ErrProcessMailboxFull;
    }
    worker.queue.push_back(std::move(envelope));
    return {};
  }
  gen::Result<void> ForwardMakingRoom(gen::PID worker, core::EnvelopePtr& envelope) override {
    Worker& receiver = At(worker.id);
    if (!receiver.alive) return gen::ErrProcessTerminated;
    if (receiver.capacity == 0 || receiver.queue.size() < receiver.capacity) {
      return Forward(worker, envelope, true);
    }
    ++overflowed;
    if (receiver.overflow == gen::Overflow::kDropNewest) {
      Drop(std::move(envelope), gen::DropReason::kMailboxFull, gen::ErrProcessMailboxFull);
      return {};
    }
    core::EnvelopePtr oldest = std::move(receiver.queue.front());
    receiver.queue.pop_front();
    Drop(std::move(oldest), gen::DropReason::kMailboxFull, gen::ErrProcessMailboxFull);
    return Forward(worker, envelope, true);
  }
  bool Stash(core::Envelope& envelope) override {
    if (stash_size != 0 && stash.size() >= stash_size) {
      Drop(Detach(envelope), gen::DropReason::kMailboxFull, gen::ErrProcessMailboxFull);
      return false;
    }
    stash.push_back(Detach(envelope));
    return true;
  }
  std::size_t UnstashAll() override {
    const std::size_t count = stash.size();
    main.insert(main.begin(), std::make_move_iterator(stash.begin()),
                std::make_move_iterator(stash.end()));
    stash.clear();
    return count;
  }
  void StashOwn(core::EnvelopePtr envelope) override {
    envelope->kind = static_cast<std::uint8_t>(gen::EnvelopeKind::kOwnTimer);
    stash.push_back(std::move(envelope));
  }
  gen::Receiver* CurrentReceiver() override { return nullptr; }
  void SetNext(std::function<gen::Status()>) override {}
  std::uint64_t WorkMark() const override { return 0; }
  bool HasWork() const override { return !main.empty(); }
  void EnqueueOwn(core::EnvelopePtr envelope) override { main.push_back(std::move(envelope)); }
  void Drop(core::EnvelopePtr envelope, gen::DropReason reason, const gen::Error& error) override {
    auto* job = envelope->ValueAs<Job>();
    dropped.push_back({job == nullptr ? 0 : job->number, reason, error});
  }
  gen::Result<gen::PID> SpawnWorkerAsync(const gen::ProcessFactory&,
                                         const gen::ProcessOptions& options,
                                         const gen::Args&) override {
    if (fail_async_spawns > 0) {
      --fail_async_spawns;
      return gen::Error(gen::ErrorCode::kInternal, "no factory today");
    }
    return MakeWorker(options);
  }
  gen::Result<gen::PID> SpawnChildAsync(gen::Atom, const gen::ProcessFactory& factory,
                                        const gen::ProcessOptions& options,
                                        const gen::Args& args) override {
    return SpawnWorkerAsync(factory, options, args);
  }
  gen::Result<gen::PID> SpawnWorker(const gen::ProcessFactory&, const gen::ProcessOptions& options,
                                    const gen::Args&) override {
    if (spawns_until_failure == 0) {
      spawns_until_failure.reset();
      // A child whose Init has failed was linked, and has an heir.
      const gen::PID pid = *MakeWorker(options);
      End(pid.id, gen::Reason::Error("bad config"));
      return gen::Error(gen::ErrorCode::kProcessTerminated, "bad config");
    }
    if (spawns_until_failure) --*spawns_until_failure;
    return MakeWorker(options);
  }
  gen::Result<void> StopAfterQueue(gen::PID pid, const gen::Reason& reason) override {
    auto envelope = core::MakeEnvelope<gen::Reason>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kStopAfterThis), core::Lane::kMain, reason);
    if (pid == Self()) {
      main.push_back(std::move(envelope));
      return {};
    }
    Worker& worker = At(pid);
    if (!worker.alive) return gen::ErrProcessTerminated;
    worker.queue.push_back(std::move(envelope));
    return {};
  }
  gen::Result<void> Kill(gen::PID pid) override {
    Worker& worker = At(pid);
    if (!worker.alive) return gen::ErrProcessTerminated;
    worker.killed = true;
    End(pid.id, gen::Reason::Kill());
    return {};
  }
  gen::Result<void> AwaitEnd(gen::PID pid, std::chrono::nanoseconds) override {
    if (At(pid).alive) return gen::ErrTimeout;
    return {};
  }
  gen::WorkerProgress Progress(gen::PID pid) const override {
    const Worker& worker = workers.at(pid.id);
    if (!worker.alive) return {};
    gen::WorkerProgress progress;
    progress.handled = progress.passed = worker.handled;
    progress.queued = worker.queue.size();
    progress.has_mail = progress.queued != 0;
    progress.busy = worker.busy;
    return progress;
  }
  core::Rotation& GetRotation() override { return rotation; }
  bool TryRedirectMain() override {
    if (!main.empty()) return false;
    return redirected = true;
  }
  void AcceptMain() override { redirected = false; }
  std::uint64_t ReturningMessages() override { return 0; }
  bool IsMainRedirected() const override { return redirected; }
  void RefuseMain() override { refused = true; }
  void HoldMain(bool hold) override { main_is_held = hold; }
  void SetMailboxSize(std::uint32_t messages) override { mailbox_size = messages; }
  std::uint64_t MainQueued() const override { return main.size(); }
  std::uint64_t ExpiredRequests() const override { return expired; }
  bool HasQueue() const override { return has_queue; }
  gen::PoolChange GivenChange() const override { return given_change; }
  void LogChange(std::string_view text) override { Write(gen::LogLevel::kInfo, text); }
  void Adopt(core::Envelope&) override { ++adopted; }
  void LeaveBeginningToOthers() override {}
  void SetHeedExits(bool) override {}
  bool Begin(const core::Envelope&) override { return true; }
  void SetDuty(gen::PID worker, gen::WorkerDuty duty) override { At(worker).duty = duty; }
  void SetWorkerMailboxSize(gen::PID worker, std::uint32_t messages) override {
    At(worker).capacity = messages;
  }
  void ResumeWorker(gen::PID worker) override { At(worker).is_resumed = true; }
  void SetSenderRules(const gen::SenderRules& value) override { rules = value; }
  std::uint64_t FirstChoice() const override { return rotation.Turn(); }
  std::uint64_t OverloadedCount() const override { return 0; }
  std::uint64_t OverflowedCount() const override { return overflowed; }
  void SetSettled(std::uint64_t, std::uint64_t) override {}
  bool LeaveToHeir(core::EnvelopePtr&) override { return false; }
  void NoteShortage() override {
    if (std::exchange(shortage, true)) return;
    (void)Deliver(core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kShortage),
                                   core::Lane::kSystem));
  }
  bool TryEndShortage() override {
    if (!senders_wait) shortage = false;
    return !senders_wait;
  }
  bool TryCloseMain(std::chrono::nanoseconds retry) override {
    if (!main.empty()) return false;
    retry_after = retry;
    return redirected = true;
  }
  void SetPoolMakesRoom(bool value) override { makes_room = value; }
  bool InOwnTurn() const override { return in_own_turn; }

  // -- what the test sees and sets --

  std::deque<core::EnvelopePtr> urgent, system, main;
  std::vector<core::EnvelopePtr> stash;
  std::size_t stash_size = 0;
  std::uint64_t expired = 0;  // requests
  bool has_queue = false;
  gen::PoolChange given_change;
  bool makes_room = false;
  gen::SenderRules rules;
  std::chrono::nanoseconds retry_after{0};
  bool shortage = false;
  bool senders_wait = false;  // for room
  std::uint64_t overflowed = 0;
  int adopted = 0;  // messages that the behaviour has made for others
  core::Rotation rotation;
  std::map<std::uint64_t, Worker> workers;  // 101, 102, ... in the order of their spawns
  std::vector<int> done;                    // jobs handled by workers
  std::vector<Response> responses;
  std::vector<Dropped> dropped;
  std::vector<LogLine> logs;
  std::vector<std::pair<gen::PID, core::EnvelopePtr>> sent;
  std::vector<std::pair<std::int64_t, core::EnvelopePtr>> timers;
  std::optional<int> spawns_until_failure;  // of SpawnWorker
  int fail_async_spawns = 0;
  std::int64_t now = 1'000'000'000;
  std::uint32_t mailbox_size = 0;
  bool redirected = false;
  bool refused = false;
  bool main_is_held = false;
  std::deque<Asked> asked;
  std::set<std::uint64_t> abandoned;  // the refs of requests whose callers wait no more
  bool traps_exit = false;
  bool in_own_turn = true;
  bool started = false;
  bool ended = false;
  gen::Reason end_reason;  // when ended

 private:
  gen::Result<void> Route(core::EnvelopePtr envelope) {
    bool found_gone = false;
    for (std::uint32_t i = rotation.size(); i > 0; --i) {
      auto sent_to = Forward(Pid(rotation.Next()), envelope, true);
      if (sent_to) return {};
      rotation.Skipped();
      if (sent_to.error() != gen::ErrProcessMailboxFull) found_gone = true;
    }
    if (makes_room && !found_gone && rotation.size() != 0) {
      return ForwardMakingRoom(Pid(rotation.Next()), envelope);
    }
    envelope->flags = 0;
    if (!found_gone || (mailbox_size != 0 && main.size() >= mailbox_size)) {
      rotation.Refused();
      NoteShortage();
      return gen::ErrProcessMailboxFull;
    }
    redirected = false;
    main.push_back(std::move(envelope));
    return {};
  }

  gen::Result<gen::PID> MakeWorker(const gen::ProcessOptions& options) {
    const std::uint64_t id = 101 + workers.size();
    Worker& worker = workers[id];
    worker.pid = Pid(id);
    worker.capacity = static_cast<std::size_t>(options.mailbox_size != 0 ? options.mailbox_size
                                                                         : options.mailbox.bound());
    worker.overflow = options.mailbox.overflow();
    return worker.pid;
  }

  void Handle(core::Envelope& envelope) {
    switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
      case gen::EnvelopeKind::kStopAfterThis:
        Note([&] { return behavior_->ProcessStop(*envelope.ValueAs<gen::Reason>()); });
        return;
      case gen::EnvelopeKind::kExit: {
        auto* exit = envelope.ValueAs<gen::MessageExitPID>();
        if (exit->pid == Parent() || (!traps_exit && !exit->reason.IsNormal())) {
          Note([&] { return behavior_->ProcessStop(exit->reason); });
          return;
        }
        if (!traps_exit) return;
        break;
      }
      default:
        break;
    }
    Note([&] { return behavior_->ProcessMessage(envelope); });
  }

  template <class Function>
  bool Note(Function&& function) {
    gen::Status status;
    try {
      status = function();
    } catch (const std::exception& error) {
      status = gen::Stop(gen::Reason::Panic(error.what()));
    }
    if (!status.stops() || ended) return !ended;
    ended = true;
    end_reason = status.reason();
    if (started) behavior_->ProcessTerminate(end_reason);
    return false;
  }

  gen::LogLevel Level() const override { return gen::LogLevel::kTrace; }
  void Write(gen::LogLevel level, std::string_view text) override {
    logs.push_back({level, std::string(text)});
  }
  gen::Result<std::size_t> PublishEnvelope(gen::Atom, gen::Ref, core::EnvelopePtr) override {
    return std::size_t{0};
  }

  gen::ProcessBehavior* behavior_ = nullptr;
  core::EnvelopePtr current_;
  std::uint64_t next_ref_ = 0;
};

}  // namespace ergon::act::testing
