// A process without a node: notes what its behaviour does, and does nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ergon/gen/host/process_host.h>

namespace ergon::testkit {

// Behind testkit::Unit, which tests use.
class UnitHost final : public gen::ProcessHost, private gen::LogSink {
 public:
  struct Sent {
    gen::PID to;
    core::EnvelopePtr envelope;
  };
  struct Planned {
    std::int64_t at = 0;
    gen::PID to;
    core::EnvelopePtr envelope;
    std::shared_ptr<bool> cancelled;
    std::function<core::EnvelopePtr()> again = {};  // SendEvery: makes the next one
    std::int64_t period = 0;
  };
  struct Response {
    gen::Ref ref;
    core::EnvelopePtr envelope;
  };
  // A Request that the process has made.
  struct Asked {
    gen::PID to;
    gen::Ref ref;
    core::EnvelopePtr answer;  // null: not answered yet
    std::int64_t deadline;     // core::kNever: none
  };
  struct Line {
    gen::LogLevel level = gen::LogLevel::kInfo;
    std::string text;
  };
  // Returns the answer to a call; null if it is for another type of request.
  using Answerer = std::function<core::EnvelopePtr(core::Envelope& request)>;

  static gen::PID MakePID(std::uint64_t id) { return {id, "unit@localhost", 4}; }

  std::vector<Sent> sent;
  std::vector<Planned> planned;
  std::vector<Response> responses;
  std::vector<Asked> asked;
  // The envelope being handled, so that it can be passed on; null: none.
  core::EnvelopePtr* handled = nullptr;
  std::uint64_t handled_messages = 0;
  std::function<gen::Status()> next;
  std::vector<Line> lines;
  std::vector<gen::PID> links;
  std::vector<std::pair<gen::PID, gen::Ref>> monitors;
  std::vector<gen::Atom> groups;  // of the process, once for each membership
  std::vector<Answerer> answerers;
  std::int64_t now = 0;
  bool traps_exits = false;
  bool important_delivery = false;
  gen::TraceId trace_id = 0;
  gen::Environment environment;

  // -- gen::Messenger --
  [[nodiscard]] gen::Result<gen::PID> Resolve(const gen::Target& target) const override;
  gen::Result<void> SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) override;
  // There is always room.
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

  // -- gen::GroupMessenger: there is nobody else --
  [[nodiscard]] std::vector<gen::Atom> Groups() const override;
  [[nodiscard]] std::vector<gen::PID> GroupMembers(gen::Atom group) const override;
  [[nodiscard]] gen::Result<gen::PID> OneOf(gen::Atom group) override;
  gen::Result<std::size_t> SendEnvelopesToGroup(
      gen::Atom group, const std::function<core::EnvelopePtr()>& make) override;

  // -- gen::Process --
  [[nodiscard]] gen::PID Self() const override { return MakePID(1); }
  [[nodiscard]] gen::Atom Name() const override { return name_; }
  [[nodiscard]] gen::PID Parent() const override { return MakePID(2); }
  [[nodiscard]] gen::PID Leader() const override { return Self(); }
  [[nodiscard]] gen::Node& Node() const override;
  [[nodiscard]] gen::Log Log() override { return gen::Log(*this); }
  gen::Result<gen::PID> Spawn(const gen::ProcessFactory&, const gen::ProcessOptions&,
                              const gen::Args&) override {
    return MakePID(++last_id_);
  }
  gen::Result<gen::PID> SpawnRegister(gen::Atom, const gen::ProcessFactory&,
                                      const gen::ProcessOptions&, const gen::Args&) override {
    return MakePID(++last_id_);
  }
  gen::Result<void> RegisterName(gen::Atom name) override;
  gen::Result<void> UnregisterName() override;
  gen::Result<gen::Alias> CreateAlias() override;
  gen::Result<void> DeleteAlias(gen::Alias) override { return {}; }
  gen::Result<void> Link(const gen::Target& to, const gen::LinkOptions& options) override;
  gen::Result<void> Unlink(const gen::Target& to) override;
  gen::Result<gen::Ref> Monitor(const gen::Target& to, const gen::MonitorOptions& options) override;
  gen::Result<void> Demonitor(gen::Ref ref) override;
  gen::Result<gen::Ref> RegisterEvent(gen::Atom, const gen::EventOptions&) override {
    return MakeRef();
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
  gen::Result<void> JoinGroup(gen::Atom group) override;
  gen::Result<void> LeaveGroup(gen::Atom group) override;
  gen::Result<std::vector<gen::PID>> MonitorGroup(gen::Atom group) override {
    return GroupMembers(group);
  }
  gen::Result<void> DemonitorGroup(gen::Atom) override { return {}; }
  [[nodiscard]] gen::AnyValue FindEnv(std::string_view name) const override {
    const auto found = environment.find(std::string(name));
    if (found == environment.end()) return {};
    return found->second;
  }
  [[nodiscard]] gen::Environment EnvList() const override { return environment; }
  void SetEnv(std::string_view name, gen::AnyValue value) override {
    environment.erase(std::string(name));
    if (value) environment.emplace(name, std::move(value));
  }
  void SetTrapExit(bool trap) override { traps_exits = trap; }
  [[nodiscard]] bool TrapExit() const override { return traps_exits; }
  void SetSendPriority(gen::MessagePriority priority) override { SetDefaultPriority(priority); }
  void SetTrace(gen::TraceId trace) override {
    trace_id = trace;
    SetHasTrace(trace != 0);
  }
  [[nodiscard]] gen::TraceId Trace() const override { return trace_id; }
  void SetImportantDelivery(bool important) override { important_delivery = important; }
  [[nodiscard]] bool ImportantDelivery() const override { return important_delivery; }
  void SetLogLevel(gen::LogLevel) override {}
  gen::LogLevel LogLevel() const override { return gen::LogLevel::kInfo; }
  bool Sleep(std::chrono::nanoseconds duration) override;
  void Yield() override {}
  [[nodiscard]] gen::Ref MakeRef() override { return {++last_id_, Self().node, Self().creation}; }
  [[nodiscard]] std::int64_t Now() const override { return now; }
  gen::Result<gen::Ref> RequestEnvelope(gen::PID to, core::EnvelopePtr& request,
                                        std::chrono::nanoseconds timeout) override;
  // A process made of a function runs as a whole: it needs a node, or a Simulation.
  gen::Result<void> ReceiveEnvelope(gen::Receiver&, std::chrono::nanoseconds) override {
    return gen::ErrNotAllowed;
  }
  [[nodiscard]] gen::Receiver* CurrentReceiver() override { return nullptr; }
  void SetNext(std::function<gen::Status()> function) override { next = std::move(function); }
  [[nodiscard]] std::uint64_t WorkMark() const override { return handled_messages; }
  [[nodiscard]] bool HasWork() const override { return false; }

  // -- gen::ProcessHost: what needs a runtime --
  [[nodiscard]] gen::PoolHost& ForPool() override;
  [[nodiscard]] core::EnvelopePtr Detach(core::Envelope& envelope) override;
  [[nodiscard]] core::EnvelopePtr DetachForRequest(core::Envelope& envelope) override {
    return Detach(envelope);
  }
  gen::Result<void> PassOn(gen::PID to, core::Envelope& envelope, bool may_wait) override;
  // The test answers in place of the other process, or no answer comes.
  gen::Result<void> HandOver(gen::PID, gen::PID, gen::Ref) override { return {}; }
  // Whoever asks waits for ever.
  bool ForgetIfAbandoned(std::uint64_t, gen::PID, gen::Ref) override { return false; }
  void Drop(core::EnvelopePtr, gen::DropReason, const gen::Error&) override {}
  bool Stash(core::Envelope& envelope) override;
  std::size_t UnstashAll() override { return 0; }
  void StashOwn(core::EnvelopePtr envelope) override;
  // Nothing ever waits in a Unit.
  void EnqueueOwn(core::EnvelopePtr envelope) override;
  void SetHeedExits(bool) override {}
  gen::Result<gen::PID> SpawnChildAsync(gen::Atom, const gen::ProcessFactory&,
                                        const gen::ProcessOptions&, const gen::Args&) override;
  gen::Result<void> StopAfterQueue(gen::PID, const gen::Reason&) override;
  gen::Result<void> Kill(gen::PID) override { return {}; }
  gen::Result<void> AwaitEnd(gen::PID, std::chrono::nanoseconds) override;
  void HoldMain(bool) override {}
  void SetMailboxSize(std::uint32_t) override {}
  [[nodiscard]] std::uint64_t MainQueued() const override { return 0; }
  [[nodiscard]] std::uint64_t ExpiredRequests() const override { return 0; }
  [[nodiscard]] bool InOwnTurn() const override { return true; }

 private:
  [[nodiscard]] gen::LogLevel Level() const override { return gen::LogLevel::kTrace; }
  void Write(gen::LogLevel level, std::string_view text) override {
    lines.push_back({level, std::string(text)});
  }
  gen::Result<std::size_t> PublishEnvelope(gen::Atom, gen::Ref, core::EnvelopePtr value) override;
  // Returns the answer that OnCall has for a request; null: there is none.
  core::EnvelopePtr AnswerOf(core::Envelope& request);

  gen::Atom name_;
  std::uint64_t last_id_ = 1000;
};

}  // namespace ergon::testkit
