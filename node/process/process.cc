#include <ergon/node/process/process.h>

#include <mutex>
#include <new>
#include <utility>

#include <ergon/core/clock.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/delivery/ticks.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/diagnosis/node_log.h>
#include <ergon/node/events/publishing.h>
#include <ergon/node/groups/groups.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/names/registry.h>
#include <ergon/node/spawning/lineage.h>
#include <ergon/node/timers/delayed_sends.h>
#include <ergon/node/timers/periodic_sends.h>

namespace ergon::node {

// What an idle process costs is this, its behaviour (48 bytes for an actor) and a place among the free
// slots: not more than 440 bytes. What few processes need belongs into ProcessCold.
#ifdef NDEBUG
static_assert(sizeof(Process) <= 384);
#endif
static_assert(alignof(Process) == 64,
              "what senders write and what the process writes are lines apart");

SlotKind Process::Kind(const Rooms& rooms) {
  return {.bytes = sizeof(Process),
          .alignment = alignof(Process),
          .make = [](void* memory, std::uint32_t index, void* context) -> ProcessSlot* {
            return new (memory) Process(*static_cast<const Rooms*>(context), index);
          },
          .destroy = [](ProcessSlot& slot) noexcept { static_cast<Process&>(slot).~Process(); },
          .context = const_cast<Rooms*>(&rooms)};
}

gen::PID Process::Leader() const { return rooms_.addresses.PidOf(leader_id()); }

std::int64_t Process::Now() const { return rooms_.clock.Now(); }

gen::Ref Process::MakeRef() { return rooms_.addresses.MakeRef(); }

// ---- sending

gen::Result<gen::PID> Process::Resolve(const gen::Target& target) const {
  return rooms_.addresses.Resolve(target);
}

gen::Result<void> Process::SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) {
  if (!IsInOwnTurn() || marks_.any()) [[unlikely]]
    return SendUnusual(to, envelope);
  return SendMarked(to, envelope);
}

gen::Result<void> Process::SendUnusual(gen::PID to, core::EnvelopePtr& envelope) {
  if (!IsInOwnTurn()) return NotInOwnTurn("Send");
  marks_.Apply(*envelope, *this);
  return SendMarked(to, envelope);
}

// The last thing that it does with others is to schedule the receiver: so little has to outlive that call.
[[gnu::always_inline]] inline gen::Result<void> Process::SendMarked(gen::PID to,
                                                                    core::EnvelopePtr& envelope) {
  ++sends_;
  envelope->from = rooms_.addresses.PidOf(Id()).ToAddress();
  const Delivery::Attempt attempt = rooms_.delivery.TryMain(to, envelope);
  if (!attempt.IsTaken()) [[unlikely]] {
    if (attempt.outcome == core::PushOutcome::kRedirected) [[likely]]
      return SendToWorker(*attempt.slot, to, envelope);
    return CompleteSend(attempt, to, envelope);
  }
  counts_.Sent();
  attempt.ScheduleIfDue();
  MaybeYield();
  return {};
}

gen::Result<void> Process::SendToWorker(ProcessSlot& pool, gen::PID to,
                                        core::EnvelopePtr& envelope) {
  auto sent = rooms_.delivery.ToWorker(pool, to, envelope);
  if (!sent) [[unlikely]]
    return AfterSend(std::move(sent), to, envelope);
  counts_.Sent();
  MaybeYield();
  return sent;
}

gen::Result<void> Process::CompleteSend(const Delivery::Attempt& attempt, gen::PID to,
                                        core::EnvelopePtr& envelope) {
  return AfterSend(rooms_.delivery.Complete(attempt, to, envelope), to, envelope);
}

gen::Result<void> Process::AfterSend(gen::Result<void> sent, gen::PID to,
                                     core::EnvelopePtr& envelope) {
  if (sent) {
    counts_.Sent();
  } else if (sent.error().code() == gen::ErrorCode::kBusy) [[unlikely]] {
    sent = SendWhenThereIsRoom(to, envelope);
  } else if (WantsConfirmation(to, envelope)) [[unlikely]] {
    sent = SendConfirmed(to, envelope, 0);
    if (sent) counts_.Sent();
  }
  MaybeYield();
  return sent;
}

gen::Result<void> Process::SendWhenThereIsRoom(gen::PID to, core::EnvelopePtr& envelope) {
  // With a gen::Mutex it must not wait: the sender is told instead.
  while (gen::detail::HeldMutexes() == 0) {
    auto room = AwaitRoom(to, 0);
    if (!room) return room;
    auto sent = rooms_.delivery.Deliver(to, envelope);
    if (sent) counts_.Sent();
    if (sent || sent.error() != gen::ErrBusy) return sent;
  }
  return gen::ErrBusy;
}

gen::Result<void> Process::SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                                core::EnvelopePtr response) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendResponse");
  ++sends_;
  if (current_ != nullptr && current_->ref == ref.id && IsOpenQuestion()) {
    answered_ = true;
  } else if (ProcessCold* cold = ColdIfAny()) {
    cold->open_requests.erase(ref);
  }
  response->from = Self().ToAddress();
  marks_.ApplyTrace(*response, *this);
  return rooms_.delivery.Respond(from, ref.id, std::move(response));
}

gen::Result<gen::TimerHandle> Process::SendEnvelopeAfter(const gen::Target& to,
                                                         core::EnvelopePtr envelope,
                                                         std::chrono::nanoseconds delay) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendAfter");
  envelope->from = Self().ToAddress();
  marks_.ApplyTrace(*envelope, *this);
  return rooms_.delayed_sends.Start(to, std::move(envelope), delay);
}

gen::Result<gen::TimerHandle> Process::SendEnvelopesEvery(const gen::Target& to,
                                                          std::function<core::EnvelopePtr()> make,
                                                          std::chrono::nanoseconds period) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendEvery");
  {
    std::lock_guard lock(Cold().lock);
    Cold().periodic_sends = true;
  }
  return rooms_.periodic_sends.Start(Self(), to, std::move(make), period);
}

gen::Result<void> Process::SendExit(const gen::Target& to, gen::Reason reason) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendExit");
  ++sends_;
  return rooms_.exit_signals.SendExit(Self(), to, reason);
}

// ---- envelopes

core::EnvelopePtr Process::Detach(core::Envelope& envelope) {
  if (IsTick(envelope)) rooms_.ticks.WaitsAgain(envelope);
  return DetachHeld(envelope);
}

void Process::Drop(core::EnvelopePtr envelope, gen::DropReason reason, const gen::Error& error) {
  if (IsMessage(*envelope)) Hold(-1);
  rooms_.delivery.Drop(std::move(envelope), Self(), reason, error);
}

// ---- children

gen::Result<gen::PID> Process::Spawn(const gen::ProcessFactory& factory,
                                     const gen::ProcessOptions& options, const gen::Args& args) {
  return SpawnChild({.factory = factory,
                     .options = options,
                     .args = args,
                     .parent = Self(),
                     .link = options.link_parent || options.link_child});
}

gen::Result<gen::PID> Process::SpawnRegister(gen::Atom name, const gen::ProcessFactory& factory,
                                             const gen::ProcessOptions& options,
                                             const gen::Args& args) {
  if (name.empty()) return gen::Error(gen::ErrorCode::kIncorrect, "name: must not be empty");
  return SpawnChild({.factory = factory,
                     .options = options,
                     .args = args,
                     .parent = Self(),
                     .name = name,
                     .link = options.link_parent || options.link_child});
}

gen::Result<gen::PID> Process::SpawnChildAsync(gen::Atom name, const gen::ProcessFactory& factory,
                                               const gen::ProcessOptions& options,
                                               const gen::Args& args) {
  return SpawnChild({.factory = factory,
                     .options = options,
                     .args = args,
                     .parent = Self(),
                     .name = name,
                     .link = true,
                     .announce = true});
}

gen::Result<void> Process::StopAfterQueue(gen::PID pid, const gen::Reason& reason) {
  return rooms_.exit_signals.StopAfterQueue(pid, reason);
}

gen::Result<void> Process::Kill(gen::PID pid) { return rooms_.exit_signals.Kill(pid); }

// ---- names

gen::Result<void> Process::RegisterName(gen::Atom name) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("RegisterName");
  return rooms_.registry.RegisterName(name, Self());
}

gen::Result<void> Process::UnregisterName() {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("UnregisterName");
  const gen::Atom name = Name();
  if (name.empty()) return gen::Error(gen::ErrorCode::kProcessUnknown, "no name is registered");
  auto released = rooms_.registry.UnregisterName(name);
  if (!released) return std::move(released.error());
  return {};
}

gen::Result<gen::Alias> Process::CreateAlias() {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("CreateAlias");
  return rooms_.registry.CreateAlias(*this);
}

gen::Result<void> Process::DeleteAlias(gen::Alias alias) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("DeleteAlias");
  return rooms_.registry.DeleteAlias(*this, alias);
}

// ---- relations

gen::Result<void> Process::Link(const gen::Target& to, const gen::LinkOptions& options) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Link");
  auto pid = rooms_.addresses.Resolve(to);
  if (!pid) return std::move(pid.error());
  if (to.AsPID() != nullptr) return rooms_.relations.Link(*this, *pid, options.order);
  const auto kept = to.Kept();  // the signal will name it
  if (!kept) return kept.error();
  return rooms_.relations.LinkByName(*this, *kept, *pid, options.order);
}

gen::Result<void> Process::Unlink(const gen::Target& to) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Unlink");
  if (rooms_.relations.UnlinkByName(*this, to)) return {};
  auto pid = rooms_.addresses.Resolve(to);
  if (!pid) return std::move(pid.error());
  return rooms_.relations.Unlink(*this, *pid);
}

gen::Result<gen::Ref> Process::Monitor(const gen::Target& to, const gen::MonitorOptions& options) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Monitor");
  const auto kept = to.Kept();  // the notice will name it
  if (!kept) return kept.error();
  auto pid = rooms_.addresses.Resolve(*kept);
  if (pid && IsAlias(*pid)) {
    return gen::Error(
        gen::ErrorCode::kUnsupported,
        "a monitor by an alias of another node, monitor the PID instead: " + TextOf(*pid));
  }
  return rooms_.relations.Monitor(*this, *kept, pid ? *pid : gen::PID(), options.order);
}

gen::Result<void> Process::Demonitor(gen::Ref ref) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Demonitor");
  return rooms_.relations.Demonitor(*this, ref);
}

// ---- events

gen::Result<gen::Ref> Process::RegisterEvent(gen::Atom name, const gen::EventOptions& options) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("RegisterEvent");
  return rooms_.publishing.Register(*this, name, options);
}

gen::Result<void> Process::UnregisterEvent(gen::Atom name) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("UnregisterEvent");
  return rooms_.publishing.Unregister(*this, name);
}

gen::Result<std::vector<gen::MessageEvent>> Process::MonitorEvent(const gen::Event& event) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("MonitorEvent");
  return SubscribeTo(event, false);
}

gen::Result<std::vector<gen::MessageEvent>> Process::SubscribeTo(const gen::Event& event,
                                                                 bool link) {
  return rooms_.publishing.IsElsewhere(event) ? SubscribeElsewhere(event, link)
                                              : rooms_.publishing.Subscribe(*this, event, link);
}

gen::Result<void> Process::DemonitorEvent(const gen::Event& event) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("DemonitorEvent");
  return rooms_.publishing.Unsubscribe(*this, event, false);
}

gen::Result<std::vector<gen::MessageEvent>> Process::LinkEvent(const gen::Event& event) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("LinkEvent");
  return SubscribeTo(event, true);
}

gen::Result<void> Process::UnlinkEvent(const gen::Event& event) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("UnlinkEvent");
  return rooms_.publishing.Unsubscribe(*this, event, true);
}

gen::Result<std::size_t> Process::PublishEnvelope(gen::Atom name, gen::Ref token,
                                                  core::EnvelopePtr value) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendEvent");
  return rooms_.publishing.Publish(Self(), name, token, std::move(value));
}

// ---- groups

std::vector<gen::Atom> Process::Groups() const { return rooms_.groups.Names(); }

std::vector<gen::PID> Process::GroupMembers(gen::Atom group) const {
  return rooms_.groups.Members(group);
}

gen::Result<gen::PID> Process::OneOf(gen::Atom group) { return rooms_.groups.OneOf(group); }

gen::Result<std::size_t> Process::SendEnvelopesToGroup(
    gen::Atom group, const std::function<core::EnvelopePtr()>& make) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendToGroup");
  const auto make_marked = [&] {
    ++sends_;
    core::EnvelopePtr envelope = make();
    marks_.Apply(*envelope, *this);
    return envelope;
  };
  auto sent = rooms_.groups.Send(Self(), group, make_marked, [this] { counts_.Sent(); });
  MaybeYield();
  return sent;
}

gen::Result<void> Process::JoinGroup(gen::Atom group) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("JoinGroup");
  return rooms_.groups.Join(group, Self());
}

gen::Result<void> Process::LeaveGroup(gen::Atom group) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("LeaveGroup");
  return rooms_.groups.Leave(group, Self());
}

gen::Result<std::vector<gen::PID>> Process::MonitorGroup(gen::Atom group) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("MonitorGroup");
  return rooms_.groups.Monitor(*this, group);
}

gen::Result<void> Process::DemonitorGroup(gen::Atom group) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("DemonitorGroup");
  return rooms_.groups.Demonitor(*this, group);
}

// ---- what it may set of itself

void Process::SetTrapExit(bool trap) {
  MustBeInOwnTurn("SetTrapExit");
  end_requests_.SetTrapExit(trap);
}

void Process::SetSendPriority(gen::MessagePriority priority) {
  MustBeInOwnTurn("SetSendPriority");
  SetDefaultPriority(priority);
}

void Process::SetImportantDelivery(bool important) {
  MustBeInOwnTurn("SetImportantDelivery");
  marks_.SetImportant(important);
}

void Process::SetTrace(gen::TraceId trace) {
  MustBeInOwnTurn("SetTrace");
  BeginTrace(trace);
}

void Process::SetLogLevel(gen::LogLevel level) {
  MustBeInOwnTurn("SetLogLevel");
  const auto after = static_cast<std::uint8_t>(level);
  const std::uint8_t before = log_level_.exchange(after, std::memory_order_relaxed);
  const bool is_change = before != after && activity_.state() != gen::ProcessState::kStarting;
  if (!is_change || rooms_.log.Level() == gen::LogLevel::kOff) return;
  rooms_.log.TellChange(AsInItsLines(rooms_.addresses, Self()) + ": log_level", LevelText(after),
                        LevelText(before));
}

gen::LogLevel Process::LogLevel() const { return LogLevelOr(rooms_.log.Level()); }

// ---- environment

gen::AnyValue Process::FindEnv(std::string_view name) const {
  MustBeInOwnTurn("Env");
  return ValueOf(environment(), name);
}

gen::Environment Process::EnvList() const {
  MustBeInOwnTurn("EnvList");
  const SharedEnvironment values = environment();
  return values == nullptr ? gen::Environment() : *values;
}

void Process::SetEnv(std::string_view name, gen::AnyValue value) {
  MustBeInOwnTurn("SetEnv");
  rooms_.inheritance.SetEnv(*this, name, std::move(value));
}

}  // namespace ergon::node
