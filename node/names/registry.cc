#include <ergon/node/names/registry.h>

#include <mutex>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

gen::Result<void> Registry::RegisterName(gen::Atom name, gen::PID pid) {
  if (name.empty()) return gen::Error(gen::ErrorCode::kIncorrect, "name: must not be empty");
  ProcessSlot* process = addresses_.Find(pid);
  if (process == nullptr) return addresses_.WhyUnreachable(pid);
  ProcessCold& cold = process->Cold();
  std::lock_guard lock(cold.lock);
  if (!process->IsStill(pid)) {
    return gen::ErrProcessTerminated;
  }
  if (!cold.name.empty()) {
    return gen::Error(
        gen::ErrorCode::kNotAllowed,
        fmt::format("the process already has the name '{}': unregister that name first",
                    cold.name));
  }
  if (!addresses_.names().Add(name, pid)) {
    return gen::Error(gen::ErrorCode::kTaken, "'" + name.ToString() + "'");
  }
  cold.name = name;
  return {};
}

gen::Result<gen::PID> Registry::UnregisterName(gen::Atom name) {
  if (addresses_.IsStopped()) return gen::ErrNodeTerminated;
  const gen::PID pid = addresses_.names().Find(name);
  ProcessSlot* process = pid ? addresses_.Find(pid) : nullptr;
  if (process == nullptr) {
    return gen::Error(gen::ErrorCode::kProcessUnknown, "'" + name.ToString() + "'");
  }
  std::vector<ProcessCold::Watcher> watchers;
  {
    ProcessCold& cold = process->Cold();
    std::lock_guard lock(cold.lock);
    if (!addresses_.names().Remove(name, pid)) {
      return gen::Error(gen::ErrorCode::kProcessUnknown, "'" + name.ToString() + "'");
    }
    cold.name = gen::Atom();
    watchers = TakeWatchersOf(name, cold);
  }
  relations_.TellUnregistered(watchers);
  return pid;
}

gen::Result<void> Registry::UnregisterName(ProcessSlot& slot) {
  const gen::PID pid = addresses_.PidOf(slot.Id());
  gen::Atom name;
  std::vector<ProcessCold::Watcher> watchers;
  if (ProcessCold* const cold = slot.ColdIfAny()) {
    std::lock_guard lock(cold->lock);
    name = std::exchange(cold->name, gen::Atom());
    if (!name.empty()) {
      addresses_.names().Remove(name, pid);
      watchers = TakeWatchersOf(name, *cold);
    }
  }
  if (name.empty()) {
    return gen::Error(gen::ErrorCode::kProcessUnknown, "no name is registered");
  }
  relations_.TellUnregistered(watchers);
  return {};
}

// With the lock under which the name was taken away: those that come later watch its next holder.
std::vector<ProcessCold::Watcher> Registry::TakeWatchersOf(gen::Atom name,
                                                           ProcessCold& cold) const {
  return cold.watchers.TakeOf(gen::Target(gen::ProcessID{name, addresses_.node()}).Tag());
}

gen::Result<gen::Alias> Registry::CreateAlias(ProcessSlot& slot) {
  const gen::Alias alias{NextUniqueId(), addresses_.node(), addresses_.creation()};
  const gen::PID self = addresses_.PidOf(slot.Id());
  addresses_.aliases().Add(alias.id, self);
  try {
    ProcessCold& cold = slot.Cold();
    std::lock_guard lock(cold.lock);
    cold.aliases.push_back(alias);
  } catch (...) {  // nobody would remove it
    addresses_.aliases().Remove(alias.id, self);
    throw;
  }
  return alias;
}

gen::Result<void> Registry::DeleteAlias(ProcessSlot& slot, gen::Alias alias) {
  // Another node's, or a former incarnation's, may have the same id.
  const bool may_be_own =
      alias.node == addresses_.node() && alias.creation == addresses_.creation();
  if (!may_be_own || !addresses_.aliases().Remove(alias.id, addresses_.PidOf(slot.Id()))) {
    return gen::Error(gen::ErrorCode::kProcessUnknown, alias.ToString());
  }
  {
    ProcessCold& cold = slot.Cold();
    std::lock_guard lock(cold.lock);
    cold.aliases.Remove(alias.id);
  }
  relations_.ReleaseTarget(slot, addresses_.PidOf(slot.Id()), alias);
  return {};
}

void Registry::Release(gen::PID pid, ProcessCold& cold) {
  // The name stays readable for log lines until the slot is used again; see ProcessRunner::Open.
  if (!cold.name.empty()) addresses_.names().Remove(cold.name, pid);
  for (const gen::Alias& alias : cold.aliases) addresses_.aliases().Remove(alias.id, pid);
  cold.aliases = {};
}

}  // namespace ergon::node
