#include <ergon/node/process/process.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ergon/core/clock.h>
#include <ergon/core/messages/mailbox_layout.h>
#include <ergon/core/time/deadline.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/foreign_aliases.h>
#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/diagnosis/node_log.h>
#include <ergon/node/events/publishing.h>
#include <ergon/node/groups/groups.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/names/registry.h>
#include <ergon/node/spawning/lineage.h>
#include <ergon/node/spawning/spawning.h>

namespace ergon::node {
namespace {

// For what the end of a process takes away: what the destructor of its behaviour registers would stay.
template <class Verb>
std::invoke_result_t<Verb> UntilEnd(const ProcessSlot& process, Verb verb) {
  if (process.mailbox().IsClosed()) [[unlikely]]
    return gen::ErrProcessTerminated;
  return verb();
}

}  // namespace

// What an idle process costs is this, its behaviour (48 bytes for an actor) and a place among the free
// slots: not more than 376 bytes. What few processes need belongs into ProcessExtras, or into ProcessCold.
#ifdef NDEBUG
static_assert(sizeof(Process) <= 320);
#endif
static_assert(alignof(Process) == 64,
              "what senders write and what the process writes are lines apart");

SlotKind Process::Kind(const Rooms& rooms) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // no virtual bases
  // Senders write the line of the mailbox's word with each message. What the process reads for each message is not
  // there, or both would wait for that line.
  constexpr std::size_t kMailbox = offsetof(Process, mailbox_);
  constexpr std::size_t kSenders = (kMailbox + core::MailboxLayout::kWord) / 64;
  static_assert((kMailbox + core::MailboxLayout::kExpress) / 64 != kSenders);
  static_assert((kMailbox + core::MailboxLayout::kTaken) / 64 != kSenders);
  static_assert(offsetof(Process, generation_) / 64 != kSenders);
  static_assert(offsetof(Process, end_requests_) / 64 != kSenders);
  static_assert(offsetof(Process, behavior_) / 64 != kSenders);
#pragma GCC diagnostic pop
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
  const std::int64_t deadline = core::DeadlineAfter(Now(), options.init_timeout);
  const auto await_end = [this](gen::PID ending, std::chrono::nanoseconds left) {
    return static_cast<bool>(AwaitEnd(ending, left));
  };
  for (;;) {
    auto child = SpawnChild({.factory = factory,
                             .options = options,
                             .args = args,
                             .parent = Self(),
                             .name = name,
                             .link = options.link_parent || options.link_child});
    if (child || child.error() != gen::ErrTaken) return child;
    if (!rooms_.spawning.AwaitName(name, Self(), deadline, await_end)) return child;
  }
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
  return InTurn("RegisterName", [&] { return rooms_.registry.RegisterName(name, Self()); });
}

gen::Result<void> Process::UnregisterName() {
  return InTurn("UnregisterName", [&] { return rooms_.registry.UnregisterName(*this); });
}

gen::Result<gen::Alias> Process::CreateAlias() {
  return InTurn("CreateAlias", [&] {
    return UntilEnd(*this, [&] { return rooms_.registry.CreateAlias(*this); });
  });
}

gen::Result<void> Process::DeleteAlias(gen::Alias alias) {
  return InTurn("DeleteAlias", [&] { return rooms_.registry.DeleteAlias(*this, alias); });
}

// ---- relations

gen::Result<void> Process::Link(const gen::Target& to, const gen::LinkOptions& options) {
  return InTurn("Link", [&]() -> gen::Result<void> {
    if (mailbox().IsClosed()) return gen::ErrProcessTerminated;  // as in UntilEnd
    auto pid = rooms_.addresses.Resolve(to);
    if (!pid) return std::move(pid.error());
    last_look_ = 0;  // a signal of a former link with that process, which was stale, counts again
    if (to.AsPID() != nullptr) return rooms_.relations.Link(*this, *pid, options.order);
    const auto kept = to.Kept();  // the signal will name it
    if (!kept) return kept.error();
    return rooms_.relations.LinkByName(*this, *kept, *pid, options.order);
  });
}

gen::Result<void> Process::Unlink(const gen::Target& to) {
  return InTurn("Unlink", [&]() -> gen::Result<void> {
    if (rooms_.relations.UnlinkByName(*this, to)) return {};
    auto pid = rooms_.addresses.Resolve(to);
    if (!pid) return std::move(pid.error());
    return rooms_.relations.Unlink(*this, *pid);
  });
}

gen::Result<gen::Ref> Process::Monitor(const gen::Target& to, const gen::MonitorOptions& options) {
  return InTurn("Monitor", [&]() -> gen::Result<gen::Ref> {
    if (mailbox().IsClosed()) return gen::ErrProcessTerminated;  // as in UntilEnd
    const auto kept = to.Kept();                                 // the notice will name it
    if (!kept) return kept.error();
    auto pid = rooms_.addresses.Resolve(*kept);
    if (!pid && pid.error() == gen::ErrIncorrect) return std::move(pid.error());
    if (pid && IsAlias(*pid)) {
      return gen::Error(
          gen::ErrorCode::kUnsupported,
          "a monitor by an alias of another node, monitor the PID instead: " + TextOf(*pid));
    }
    return rooms_.relations.Monitor(*this, *kept, pid ? *pid : gen::PID(), options.order);
  });
}

gen::Result<void> Process::Demonitor(gen::Ref ref) {
  return InTurn("Demonitor", [&] { return rooms_.relations.Demonitor(*this, ref); });
}

// ---- events

gen::Result<gen::Ref> Process::RegisterEvent(gen::Atom name, const gen::EventOptions& options) {
  return InTurn("RegisterEvent", [&] {
    return UntilEnd(*this, [&] { return rooms_.publishing.Register(*this, name, options); });
  });
}

gen::Result<void> Process::UnregisterEvent(gen::Atom name) {
  return InTurn("UnregisterEvent", [&] { return rooms_.publishing.Unregister(*this, name); });
}

gen::Result<std::vector<gen::MessageEvent>> Process::MonitorEvent(const gen::Event& event) {
  return InTurn("MonitorEvent", [&] { return SubscribeTo(event, false); });
}

gen::Result<std::vector<gen::MessageEvent>> Process::SubscribeTo(const gen::Event& event,
                                                                 bool link) {
  return UntilEnd(*this, [&] {
    return rooms_.publishing.IsElsewhere(event) ? SubscribeElsewhere(event, link)
                                                : rooms_.publishing.Subscribe(*this, event, link);
  });
}

gen::Result<void> Process::DemonitorEvent(const gen::Event& event) {
  return InTurn("DemonitorEvent",
                [&] { return rooms_.publishing.Unsubscribe(*this, event, false); });
}

gen::Result<std::vector<gen::MessageEvent>> Process::LinkEvent(const gen::Event& event) {
  return InTurn("LinkEvent", [&] { return SubscribeTo(event, true); });
}

gen::Result<void> Process::UnlinkEvent(const gen::Event& event) {
  return InTurn("UnlinkEvent", [&] { return rooms_.publishing.Unsubscribe(*this, event, true); });
}

gen::Result<std::size_t> Process::PublishEnvelope(gen::Atom name, gen::Ref token,
                                                  core::EnvelopePtr value) {
  return InTurn("SendEvent", [&] {
    marks_.ApplyTrace(*value, *this);
    return rooms_.publishing.Publish(Self(), name, token, std::move(value));
  });
}

// ---- groups

std::vector<gen::Atom> Process::Groups() const { return rooms_.groups.Names(); }

std::vector<gen::PID> Process::GroupMembers(gen::Atom group) const {
  return rooms_.groups.Members(group);
}

gen::Result<gen::PID> Process::OneOf(gen::Atom group) { return rooms_.groups.OneOf(group); }

gen::Result<void> Process::JoinGroup(gen::Atom group) {
  return InTurn("JoinGroup", [&] { return rooms_.groups.Join(group, Self()); });
}

gen::Result<void> Process::LeaveGroup(gen::Atom group) {
  return InTurn("LeaveGroup", [&] { return rooms_.groups.Leave(group, Self()); });
}

gen::Result<std::vector<gen::PID>> Process::MonitorGroup(gen::Atom group) {
  return InTurn("MonitorGroup", [&] {
    return UntilEnd(*this, [&] { return rooms_.groups.Monitor(*this, group); });
  });
}

gen::Result<void> Process::DemonitorGroup(gen::Atom group) {
  return InTurn("DemonitorGroup", [&] { return rooms_.groups.Demonitor(*this, group); });
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
  if (before == after || rooms_.log.Level() == gen::LogLevel::kOff) return;
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
  rooms_.lineage.SetEnv(*this, name, std::move(value));
}

}  // namespace ergon::node
