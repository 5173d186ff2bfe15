#include <ergon/node/lifecycle/applications.h>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/options/option_checks.h>

namespace ergon::node {
namespace {

using State = gen::ApplicationState;

gen::Error InState(gen::Atom name, State state) {
  return gen::Error(gen::ErrorCode::kNotAllowed,
                    fmt::format("application '{}' is {}", name, ToString(state)));
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
  std::lock_guard lock(mutex_);
  Entry entry{.spec = std::make_shared<const gen::ApplicationSpec>(spec)};
  if (!entries_.emplace(spec.name, std::move(entry)).second) {
    return gen::Error(gen::ErrorCode::kTaken,
                      fmt::format("application '{}' is loaded already", spec.name));
  }
  return {};
}

gen::Result<void> Applications::Unload(gen::Atom name) {
  std::lock_guard lock(mutex_);
  auto entry = Find(name);
  if (!entry) return std::move(entry.error());
  if ((*entry)->state != State::kLoaded) return InState(name, (*entry)->state);
  entries_.erase(name);
  return {};
}

// -- start --

gen::Result<void> Applications::Plan(gen::Atom name, std::vector<gen::Atom>& path,
                                     std::vector<gen::Atom>& order) {
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
  if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  return {};
}

gen::Result<void> Applications::Start(gen::Atom name) {
  std::vector<gen::Atom> order;
  {
    std::lock_guard lock(mutex_);
    auto entry = Find(name);
    if (!entry) return std::move(entry.error());
    if ((*entry)->state != State::kLoaded) return InState(name, (*entry)->state);
    std::vector<gen::Atom> path;
    auto planned = Plan(name, path, order);
    if (!planned) return planned;
  }
  for (const gen::Atom next : order) {
    auto started = StartOne(next);
    if (!started) return started;
  }
  return {};
}

gen::Result<void> Applications::StartOne(gen::Atom name) {
  std::shared_ptr<const gen::ApplicationSpec> spec;
  {
    std::lock_guard lock(mutex_);
    auto entry = Find(name);
    if (!entry) return std::move(entry.error());
    if ((*entry)->state == State::kRunning) return {};
    if ((*entry)->state != State::kLoaded) return InState(name, (*entry)->state);
    (*entry)->state = State::kStarting;
    spec = (*entry)->spec;
  }
  const gen::ProcessFactory master(
      [&observer = static_cast<ApplicationObserver&>(*this),
       spec]() -> std::unique_ptr<gen::ProcessBehavior> {
        return std::make_unique<ApplicationMaster>(observer, spec);
      },
      &typeid(ApplicationMaster));
  auto started = node_.Spawn(master, {.environment = spec->environment});
  if (started) return {};
  Ended(name);
  const gen::Error& error = started.error();
  return gen::Error(error.code(),
                    fmt::format("application '{}': {}", name,
                                error.detail().empty() ? error.ToString() : error.detail()));
}

// -- stop --

gen::Result<void> Applications::Stop(gen::Atom name, std::chrono::nanoseconds timeout) {
  gen::PID master;
  {
    std::lock_guard lock(mutex_);
    auto entry = Find(name);
    if (!entry) return std::move(entry.error());
    const State state = (*entry)->state;
    if (state != State::kRunning && state != State::kStopping) return InState(name, state);
    for (const auto& [other, its] : entries_) {
      const auto& depends = its.spec->depends;
      if (its.state == State::kLoaded || its.state == State::kStopping) continue;
      if (std::find(depends.begin(), depends.end(), name) == depends.end()) continue;
      return gen::Error(
          gen::ErrorCode::kNotAllowed,
          fmt::format("application '{}' needs '{}' and is {}", other, name, ToString(its.state)));
    }
    master = (*entry)->master;
  }
  auto stopped = node_.StopProcess(master, timeout);
  // It may have ended by itself meanwhile.
  if (!stopped && stopped.error() == gen::ErrProcessTerminated) return {};
  return stopped;
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
  if (entry.master) info.uptime = std::chrono::nanoseconds(now - entry.started_at);
  return info;
}

std::vector<gen::Atom> Applications::List() const {
  std::lock_guard lock(mutex_);
  std::vector<gen::Atom> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

std::vector<gen::PID> Applications::MastersNewestFirst() const {
  std::vector<std::pair<std::uint64_t, gen::PID>> found;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      if (entry.master) found.emplace_back(entry.order, entry.master);
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
  Entry& entry = entries_.at(name);
  if (alive) {
    entry.processes.push_back(pid);
  } else {
    std::erase(entry.processes, pid);
  }
}

void Applications::Running(gen::Atom name, gen::PID master, std::int64_t now) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(name);
  entry.state = State::kRunning;
  entry.master = master;
  entry.started_at = now;
  entry.order = ++starts_;
}

void Applications::Stopping(gen::Atom name) {
  std::lock_guard lock(mutex_);
  entries_.at(name).state = State::kStopping;
}

void Applications::Ended(gen::Atom name) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.state = State::kLoaded;
  entry.master = gen::PID();
  entry.processes.clear();
}

}  // namespace ergon::node
