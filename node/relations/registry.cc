// Names and aliases of processes, and what becomes of all that is known by a name when one ends.
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/unique_id.h>
#include <ergon/node/relations/relations.h>

namespace ergon::node {

gen::Ref Runtime::MakeRef() { return {NextUniqueId(), name_, creation_}; }

gen::Result<gen::PID> Runtime::Resolve(const gen::Target& target) const {
  if (const auto* pid = target.AsPID()) return *pid;
  if (IsStopped()) return gen::ErrNodeTerminated;
  gen::PID found;
  if (const auto* name = target.AsProcessID()) {
    if (!name->node.empty() && name->node != name_) {
      return gen::Error(gen::ErrorCode::kNoConnection, name->node.ToString());
    }
    found = names_.Find(name->name);
  } else if (const std::string* text = target.AsUnknownName()) {
    auto checked = target.Check();
    if (!checked) return std::move(checked.error());
    const std::optional<gen::Atom> atom = gen::Atom::Find(*text);  // it may be known by now
    if (atom) found = names_.Find(*atom);
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
  if (!process->IsStill(pid)) {
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
  if (IsStopped()) return gen::ErrNodeTerminated;
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
  std::vector<ProcessCold::EventSubscription> subscriptions;
  bool periodic_sends = false;
  {
    std::lock_guard lock(cold->lock);
    if (!cold->name.empty()) names_.Remove(cold->name, self);
    // The name stays readable for log lines until the slot is used again; see Process::Open.
    for (const gen::Alias& alias : cold->aliases) aliases_.Remove(alias.id, self);
    cold->aliases = {};
    cold->fallback = {};
    cold->overflow = gen::Overflow::kReject;
    cold->mailbox = {};
    cold->stash_limit = 0;
    events.swap(cold->events);
    subscriptions.swap(cold->subscriptions);
    periodic_sends = std::exchange(cold->periodic_sends, false);
  }
  if (periodic_sends) periodic_sends_.EndThoseOf(self);
  for (const auto& subscription : subscriptions) EndSubscription(subscription, self);
  for (const gen::Atom event : events) EndEvent(event, self, reason);
}

}  // namespace ergon::node
