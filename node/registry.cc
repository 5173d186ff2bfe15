// Names, aliases and events of processes.
#include <algorithm>
#include <mutex>

#include <ergon/gen/notices.h>
#include <ergon/node/relations.h>
#include <ergon/node/runtime.h>
#include <ergon/node/unique_id.h>

namespace ergon::node {
namespace {

// A process has as many notes of an event as it has subscriptions to it, plus those that are being
// made or ended: each takes its own away.
void EraseOne(std::vector<gen::Atom>& notes, gen::Atom name) {
  auto found = std::find(notes.begin(), notes.end(), name);
  if (found != notes.end()) notes.erase(found);
}

}  // namespace

gen::Ref Runtime::MakeRef() { return {NextUniqueId(), name_, creation_}; }

gen::Result<gen::PID> Runtime::Resolve(const gen::Target& target) const {
  if (const auto* pid = target.AsPID()) return *pid;
  gen::PID found;
  if (const auto* name = target.AsProcessID()) {
    if (!name->node.empty() && name->node != name_) {
      return gen::Error(gen::ErrorCode::kNoConnection, name->node.ToString());
    }
    found = names_.Find(name->name);
  } else {
    const gen::Alias& alias = *target.AsAlias();
    if (alias.node == name_ && alias.creation == creation_) found = aliases_.Find(alias.id);
  }
  if (!found) return gen::Error(gen::ErrorCode::kProcessUnknown, target.ToString());
  return found;
}

gen::Result<void> Runtime::RegisterName(gen::Atom name, gen::PID pid) {
  if (name.empty()) return gen::Error(gen::ErrorCode::kIncorrect, "name: must not be empty");
  Process* process = Find(pid);
  if (process == nullptr) return Reach(pid);
  ProcessCold& cold = process->Cold();
  std::lock_guard lock(cold.lock);
  if (process->generation_.load(std::memory_order_relaxed) != GenerationOf(pid) ||
      process->relations_closed_.load(std::memory_order_seq_cst)) {
    return gen::ErrProcessTerminated;
  }
  if (!cold.name.empty()) {
    return gen::Error(gen::ErrorCode::kNotAllowed,
                      "the process has the name '" + cold.name.ToString() + "'");
  }
  if (!names_.Add(name, pid)) {
    return gen::Error(gen::ErrorCode::kTaken, "'" + name.ToString() + "'");
  }
  cold.name = name;
  return {};
}

gen::Result<gen::PID> Runtime::UnregisterName(gen::Atom name) {
  const gen::PID pid = names_.Find(name);
  Process* process = pid ? Find(pid) : nullptr;
  if (process == nullptr) {
    return gen::Error(gen::ErrorCode::kProcessUnknown, "'" + name.ToString() + "'");
  }
  {
    ProcessCold& cold = process->Cold();
    std::lock_guard lock(cold.lock);
    if (!names_.Remove(name, pid)) {
      return gen::Error(gen::ErrorCode::kProcessUnknown, "'" + name.ToString() + "'");
    }
    cold.name = gen::Atom();
  }
  Relations::ReleaseTarget(*this, *process, pid, gen::ProcessID{name, name_});
  return pid;
}

gen::Result<gen::Alias> Runtime::CreateAlias(Process& process) {
  const gen::Alias alias{NextUniqueId(), name_, creation_};
  aliases_.Add(alias.id, process.Self());
  ProcessCold& cold = process.Cold();
  std::lock_guard lock(cold.lock);
  cold.aliases.push_back(alias);
  return alias;
}

gen::Result<void> Runtime::DeleteAlias(Process& process, gen::Alias alias) {
  if (!aliases_.Remove(alias.id, process.Self())) {
    return gen::Error(gen::ErrorCode::kProcessUnknown, alias.ToString());
  }
  {
    ProcessCold& cold = process.Cold();
    std::lock_guard lock(cold.lock);
    std::erase(cold.aliases, alias);
  }
  Relations::ReleaseTarget(*this, process, process.Self(), alias);
  return {};
}

void Runtime::ReleaseNames(Process& process, const gen::Reason& reason) {
  ProcessCold* cold = process.ColdIfAny();
  if (cold == nullptr) return;
  const gen::PID self = process.Self();
  std::vector<gen::Atom> events;
  std::vector<gen::Atom> subscriptions;
  {
    std::lock_guard lock(cold->lock);
    if (!cold->name.empty()) names_.Remove(cold->name, self);
    // The name stays readable for log lines until the slot is used again; see Process::Open.
    for (const gen::Alias& alias : cold->aliases) aliases_.Remove(alias.id, self);
    cold->aliases.clear();
    cold->fallback = {};
    cold->overflow = gen::Overflow::kReject;
    cold->mailbox = {};
    cold->stash_limit = 0;
    events.swap(cold->events);
    subscriptions.swap(cold->subscriptions);
  }
  for (const gen::Atom event : subscriptions) (void)events_.Unsubscribe(event, self);
  for (const gen::Atom event : events) EndEvent(event, self, reason);
}

void Runtime::EndEvent(gen::Atom name, gen::PID producer, const gen::Reason& reason) {
  auto subscribers = events_.Remove(name, producer);
  if (!subscribers) return;
  for (const gen::PID subscriber : *subscribers) {
    auto notice = core::MakeEnvelope<gen::MessageDownEvent>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kDown), core::Lane::kSystem,
        gen::MessageDownEvent{{name, name_}, reason});
    notice->from = producer.ToAddress();
    (void)Deliver(subscriber, notice);
    if (Process* process = Find(subscriber)) {
      ProcessCold& cold = process->Cold();
      std::lock_guard lock(cold.lock);
      // The slot may have another process by now.
      if (process->generation_.load(std::memory_order_relaxed) == GenerationOf(subscriber)) {
        EraseOne(cold.subscriptions, name);
      }
    }
  }
}

gen::Result<gen::Ref> Runtime::RegisterEvent(Process& producer, gen::Atom name) {
  const gen::Ref token = MakeRef();
  auto added = events_.Add(name, producer.Self(), token);
  if (!added) return std::move(added.error());
  std::lock_guard lock(producer.Cold().lock);
  producer.Cold().events.push_back(name);
  return token;
}

gen::Result<void> Runtime::UnregisterEvent(Process& producer, gen::Atom name) {
  {
    std::lock_guard lock(producer.Cold().lock);
    if (std::erase(producer.Cold().events, name) == 0) {
      return gen::Error(gen::ErrorCode::kProcessUnknown, "no event " + name.ToString());
    }
  }
  EndEvent(name, producer.Self(), gen::Reason::Normal());
  return {};
}

gen::Result<void> Runtime::SubscribeEvent(Process& subscriber, const gen::Event& event) {
  if (!event.node.empty() && event.node != name_) {
    return gen::Error(gen::ErrorCode::kNoConnection, event.node.ToString());
  }
  // Noted first: should the event end in between, its notice finds the note.
  {
    std::lock_guard lock(subscriber.Cold().lock);
    subscriber.Cold().subscriptions.push_back(event.name);
  }
  auto subscribed = events_.Subscribe(event.name, subscriber.Self());
  if (!subscribed) {
    std::lock_guard lock(subscriber.Cold().lock);
    EraseOne(subscriber.Cold().subscriptions, event.name);
  }
  return subscribed;
}

gen::Result<void> Runtime::UnsubscribeEvent(Process& subscriber, const gen::Event& event) {
  auto unsubscribed = events_.Unsubscribe(event.name, subscriber.Self());
  if (!unsubscribed) return unsubscribed;
  std::lock_guard lock(subscriber.Cold().lock);
  EraseOne(subscriber.Cold().subscriptions, event.name);
  return {};
}

gen::Result<std::size_t> Runtime::PublishEvent(gen::PID from, gen::Atom name, gen::Ref token,
                                               core::EnvelopePtr value) {
  auto subscribers = events_.Subscribers(name, token);
  if (!subscribers) return std::move(subscribers.error());
  const std::shared_ptr<core::Envelope> shared(value.release(), core::EnvelopeDisposer());
  const std::int64_t now = clock_->Now();
  std::size_t sent = 0;
  for (const gen::PID subscriber : *subscribers) {
    auto event = core::MakeEnvelope<gen::MessageEvent>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kEvent), core::Lane::kMain,
        gen::MessageEvent({name, name_}, now, shared));
    event->from = from.ToAddress();
    auto delivered = Deliver(subscriber, event);
    if (delivered) {
      CountAccepted();
      ++sent;
    } else if (delivered.error() == gen::ErrProcessMailboxFull) {
      CountAccepted();
      NoteDrop(*event, subscriber, gen::DropReason::kMailboxFull, delivered.error());
    }
  }
  return sent;
}

}  // namespace ergon::node
