#include <ergon/node/runtime/applications.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/host/start_error.h>
#include <ergon/node/options/option_checks.h>

namespace ergon::node {
namespace {

using State = gen::ApplicationState;

gen::Error NotRunning(gen::Atom name) {
  return gen::Error(gen::ErrorCode::kNotAllowed,
                    fmt::format("application '{}' does not run", name));
}

gen::Error InState(gen::Atom name, State state) {
  return gen::Error(gen::ErrorCode::kNotAllowed,
                    fmt::format("application '{}' is {}", name, ToString(state)));
}

bool IsUp(State state) { return state == State::kRunning || state == State::kStopping; }

std::shared_ptr<const gen::ApplicationSpec> WithOptions(
    std::shared_ptr<const gen::ApplicationSpec> spec, const gen::ApplicationStartOptions& options) {
  if (!options.mode && options.environment.empty() && !options.log_level) return spec;
  auto changed = std::make_shared<gen::ApplicationSpec>(*spec);
  if (options.mode) changed->mode = *options.mode;
  if (options.log_level) changed->log_level = options.log_level;
  for (const auto& [name, value] : options.environment) {
    changed->environment.insert_or_assign(name, value);
  }
  return changed;
}

}  // namespace

gen::Result<Applications::Entry*> Applications::Find(gen::Atom name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return gen::Error(gen::ErrorCode::kProcessUnknown,
                      fmt::format("application '{}' is not loaded", name));
  }
  return &found->second;
}

gen::Result<void> Applications::Load(const gen::ApplicationSpec& spec) {
  std::string problem = spec.Validate();
  if (!problem.empty()) return Incorrect(std::move(problem));
  Entry entry;  // what is the user's is copied, and goes, without the lock
  entry.loaded = entry.spec = std::make_shared<const gen::ApplicationSpec>(spec);
  std::lock_guard lock(mutex_);
  if (!entries_.try_emplace(spec.name, std::move(entry)).second) {
    return gen::Error(gen::ErrorCode::kTaken,
                      fmt::format("application '{}' is loaded already", spec.name));
  }
  return {};
}

gen::Result<void> Applications::Unload(gen::Atom name) {
  decltype(entries_)::node_type unloaded;  // as in Load
  std::lock_guard lock(mutex_);
  auto entry = Find(name);
  if (!entry) return std::move(entry.error());
  if ((*entry)->state != State::kLoaded) return InState(name, (*entry)->state);
  unloaded = entries_.extract(name);
  return {};
}

// -- start --

gen::Result<void> Applications::Plan(gen::Atom name, std::vector<gen::Atom>& path,
                                     std::vector<gen::Atom>& order) {
  // Several may depend on it. It is planned once with all that it depends on, or the time would double with each.
  if (std::find(order.begin(), order.end(), name) != order.end()) return {};
  const bool circular = std::find(path.begin(), path.end(), name) != path.end();
  path.push_back(name);
  if (circular) {
    std::string text = "depends: ";
    for (const gen::Atom step : path) {
      text += fmt::format("{}'{}'", text.back() == '\'' ? " -> " : "", step);
    }
    return Incorrect(text + " is circular");
  }
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return Incorrect(
        fmt::format("depends: '{}', which '{}' needs, is not loaded", name, path[path.size() - 2]));
  }
  for (const gen::Atom other : found->second.spec->depends) {
    auto planned = Plan(other, path, order);
    if (!planned) return planned;
  }
  path.pop_back();
  order.push_back(name);
  return {};
}

gen::Result<void> Applications::Start(gen::Atom name, const gen::ApplicationStartOptions& options) {
  std::shared_ptr<const gen::ApplicationSpec> loaded;
  {
    std::lock_guard lock(mutex_);
    auto entry = Find(name);
    if (!entry) return std::move(entry.error());
    loaded = (*entry)->loaded;
  }
  const auto spec = WithOptions(loaded, options);  // as in Load
  std::string problem = spec->Validate();
  if (!problem.empty()) return Incorrect(std::move(problem));
  std::vector<gen::Atom> order;
  {
    std::lock_guard lock(mutex_);
    auto entry = Find(name);
    if (!entry) return std::move(entry.error());
    if ((*entry)->state != State::kLoaded) return InState(name, (*entry)->state);
    if ((*entry)->loaded != loaded) {
      return gen::Error(gen::ErrorCode::kNotAllowed,
                        fmt::format("application '{}' has just been loaded anew", name));
    }
    std::vector<gen::Atom> path;
    auto planned = Plan(name, path, order);
    if (!planned) return planned;
  }
  for (const gen::Atom next : order) {
    auto started = StartOne(next, next == name ? spec : nullptr);
    if (!started) return started;
  }
  return {};
}

gen::Result<void> Applications::CheckNeeded(gen::Atom name, const Entry& entry) const {
  for (const gen::Atom needed : entry.loaded->depends) {
    const auto found = entries_.find(needed);
    std::string state = "is not loaded";
    if (found != entries_.end()) {
      const Entry& other = found->second;
      const bool has_ended = other.state == State::kLoaded && other.last_end;
      if (other.state == State::kRunning || (has_ended && other.last_end->IsNormal())) continue;
      state = has_ended                       ? fmt::format("has ended: {}", *other.last_end)
              : other.state == State::kLoaded ? "has not been started"
                                              : fmt::format("is {}", ToString(other.state));
    }
    return gen::Error(gen::ErrorCode::kNotAllowed,
                      fmt::format("application '{}' needs '{}', which {}", name, needed, state));
  }
  return {};
}

gen::Result<void> Applications::StartOne(gen::Atom name,
                                         std::shared_ptr<const gen::ApplicationSpec> spec) {
  std::shared_ptr<const gen::ApplicationSpec> former;  // goes without the lock
  {
    std::lock_guard lock(mutex_);
    auto entry = Find(name);
    if (!entry) return std::move(entry.error());
    if (spec == nullptr && (*entry)->state == State::kRunning) return {};
    if ((*entry)->state != State::kLoaded) return InState(name, (*entry)->state);
    // They have been started, but others may have stopped one while the next one was starting.
    if (auto needed = CheckNeeded(name, **entry); !needed) return needed;
    (*entry)->state = State::kStarting;
    if (spec == nullptr) spec = (*entry)->loaded;
    former = std::exchange((*entry)->spec, spec);
  }
  try {
    auto& observer = static_cast<ApplicationObserver&>(*this);
    const gen::ProcessFactory master(
        [&observer, spec] { return std::make_unique<ApplicationMaster>(observer, spec); },
        &typeid(ApplicationMaster));
    // Each process of it has a time-out of its own, and all together may take as long as they need.
    auto started = node_.Spawn(master, {.init_timeout = gen::kInfinite,
                                        .log_level = spec->log_level,
                                        .environment = spec->environment});
    if (started) return {};
    const gen::Error& error = started.error();
    gen::Error told = gen::StartErrorOf(fmt::format("application '{}'", name), error);
    Ended(name, gen::Reason::Error(error.ToString()));  // last: from here on others may start it
    return told;
  } catch (...) {  // no memory
    NotStarted(name);
    throw;
  }
}

void Applications::NotStarted(gen::Atom name) noexcept {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  if (found != entries_.end()) found->second.Reset();
}

// -- stop --

gen::Result<gen::PID> Applications::MasterToStop(gen::Atom name) {
  std::lock_guard lock(mutex_);
  auto entry = Find(name);
  if (!entry) return std::move(entry.error());
  const State state = (*entry)->state;
  if (state == State::kLoaded) return NotRunning(name);
  if (!IsUp(state)) return InState(name, state);
  for (const auto& [other, its] : entries_) {
    const auto& depends = its.spec->depends;
    if (its.state == State::kLoaded || its.has_begun_to_stop) continue;
    if (std::find(depends.begin(), depends.end(), name) == depends.end()) continue;
    return gen::Error(
        gen::ErrorCode::kNotAllowed,
        fmt::format("application '{}' needs '{}' and is {}", other, name, ToString(its.state)));
  }
  // Who needs it must not start from here on, although its master may not have begun to stop.
  (*entry)->state = State::kStopping;
  ++(*entry)->stoppers;
  return (*entry)->master;
}

void Applications::TakeStopBack(gen::Atom name, gen::PID master) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.master != master) return;
  Entry& entry = found->second;
  if (--entry.stoppers == 0 && entry.state == State::kStopping && !entry.has_begun_to_stop) {
    entry.state = State::kRunning;
  }
}

gen::Result<void> Applications::Stop(gen::Atom name, std::chrono::nanoseconds timeout) {
  const auto master = MasterToStop(name);
  if (!master) return master.error();
  gen::Result<void> stopped;
  try {
    stopped = node_.StopProcess(*master, std::chrono::nanoseconds(0));
  } catch (...) {  // without memory: it was not asked
    TakeStopBack(name, *master);
    throw;
  }
  if (!stopped && stopped.error() == gen::ErrTimeout && timeout.count() != 0)
    stopped = node_.WaitProcess(*master, timeout);
  // It may have ended by itself meanwhile.
  if (!stopped && stopped.error() == gen::ErrProcessTerminated) return {};
  return stopped;
}

std::optional<gen::PID> Applications::StartingMasterToKill(gen::Atom name) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.state != State::kStarting) return std::nullopt;
  found->second.ended_by_force = true;  // the master may not have begun
  return found->second.master;
}

bool Applications::IsStartedBy(gen::Atom name, gen::PID master) const {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.state == State::kStarting &&
         found->second.master == master;
}

void Applications::AwaitChildrenOf(gen::PID ended) const {
  for (const gen::PID pid : node_.ProcessList()) {
    const auto info = node_.ProcessInfo(pid);
    if (info && info->parent != ended) continue;  // without: one that is just ending
    (void)node_.Kill(pid);                        // also one that has cut its link
    (void)node_.WaitProcess(pid);
  }
}

gen::Result<void> Applications::StopForce(gen::Atom name) {
  // In its Init a master reads no messages; its processes end with it.
  bool ends_soon = false;
  while (const auto starting = StartingMasterToKill(name)) {
    if (!*starting) {  // it ends when it begins
      ends_soon = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    (void)node_.Kill(*starting);
    auto ended = node_.WaitProcess(*starting);
    AwaitChildrenOf(*starting);
    // Who starts it notices that a moment later. Until then it could be neither started again nor unloaded.
    while (IsStartedBy(name, *starting)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ended;
  }
  if (ends_soon) return {};
  const auto master = MasterToStop(name);
  if (!master) return master.error();
  try {
    // An error: it has ended by itself meanwhile.
    (void)node_.SendWithPriority(*master, ApplicationMaster::StopForce{},
                                 gen::MessagePriority::kMax);
  } catch (...) {
    TakeStopBack(name, *master);
    throw;
  }
  return node_.WaitProcess(*master);
}

// -- how they are --

gen::Result<gen::ApplicationInfo> Applications::Info(gen::Atom name, std::int64_t now) const {
  std::lock_guard lock(mutex_);
  auto found = const_cast<Applications*>(this)->Find(name);
  if (!found) return std::move(found.error());
  const Entry& entry = **found;
  gen::ApplicationInfo info;
  info.name = name;
  info.description = entry.spec->description;
  info.depends = entry.spec->depends;
  info.environment = entry.spec->environment;
  info.mode = entry.spec->mode;
  info.state = entry.state;
  info.processes = entry.processes;
  info.log_level = entry.spec->log_level;
  info.last_end = entry.last_end;
  if (IsUp(entry.state)) info.uptime = std::chrono::nanoseconds(now - entry.started_at);
  return info;
}

std::vector<gen::Atom> Applications::List() const {
  std::lock_guard lock(mutex_);
  std::vector<gen::Atom> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

gen::Atom Applications::NameOf(gen::PID master) const {
  std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    if (entry.master == master) return name;
  }
  return {};
}

std::vector<gen::PID> Applications::MastersNewestFirst() const {
  std::vector<std::pair<std::uint64_t, gen::PID>> found;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      if (IsUp(entry.state)) found.emplace_back(entry.order, entry.master);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const auto& left, const auto& right) { return left.first > right.first; });
  std::vector<gen::PID> masters;
  masters.reserve(found.size());
  for (const auto& [order, master] : found) masters.push_back(master);
  return masters;
}

// -- for ApplicationMaster --

void Applications::SetProcesses(gen::Atom name, gen::PID pid, bool alive) {
  std::lock_guard lock(mutex_);
  std::vector<gen::PID>& processes = entries_.at(name).processes;
  std::erase(processes, pid);
  if (alive) processes.push_back(pid);
}

bool Applications::Starting(gen::Atom name, gen::PID master) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(name);
  if (entry.ended_by_force) return false;
  entry.master = master;
  return true;
}

void Applications::Running(gen::Atom name, std::int64_t now) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(name);
  entry.state = State::kRunning;
  entry.started_at = now;
  entry.order = ++starts_;
}

void Applications::Stopping(gen::Atom name) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(name);
  entry.state = State::kStopping;
  entry.has_begun_to_stop = true;
}

void Applications::Ended(gen::Atom name, const gen::Reason& reason) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  found->second.last_end = reason;  // first: it may throw
  found->second.Reset();
}

bool Applications::IsEndedByForce(gen::Atom name) const {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.ended_by_force;
}

}  // namespace ergon::node
