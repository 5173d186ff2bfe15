#include <ergon/act/supervisor/children.h>

#include <utility>

namespace ergon::act {
namespace {

SupervisorChildState StateOf(const SupervisionStrategy::Child& child) {
  switch (child.state) {
    case SupervisionStrategy::State::kRunning:
      return SupervisorChildState::kRunning;
    case SupervisionStrategy::State::kStarting:
      return SupervisorChildState::kStarting;
    case SupervisionStrategy::State::kStopping:
      return SupervisorChildState::kStopping;
    case SupervisionStrategy::State::kEnded:
      break;
  }
  if (child.disabled) return SupervisorChildState::kDisabled;
  return child.must_start ? SupervisorChildState::kWaiting : SupervisorChildState::kEnded;
}

}  // namespace

std::string_view ToString(SupervisorChildState state) {
  switch (state) {
    case SupervisorChildState::kRunning:
      return "running";
    case SupervisorChildState::kStarting:
      return "starting";
    case SupervisorChildState::kStopping:
      return "stopping";
    case SupervisorChildState::kWaiting:
      return "waiting";
    case SupervisorChildState::kEnded:
      return "ended";
    case SupervisorChildState::kDisabled:
      return "disabled";
  }
  return "unknown";
}

void SupervisorChildren::Add(Key key, SupervisorChildSpecPtr spec) {
  by_name_.emplace(spec->name, key);
  Entry& entry = entries_[key];
  entry.args = spec->args;
  entry.spec = std::move(spec);
}

void SupervisorChildren::AddChildOf(Template& origin, Key key, const gen::Args& args) {
  ++origin.children;
  Entry& entry = entries_[key];
  entry.spec = origin.spec;
  entry.args = origin.spec->args.With(args);
  entry.template_name = origin.spec->name;
}

void SupervisorChildren::Erase(Key key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  ClearProcess(found->second);
  if (found->second.template_name.empty()) {
    by_name_.erase(found->second.spec->name);
  } else if (Template* origin = FindTemplate(found->second.template_name)) {
    --origin->children;
  }
  entries_.erase(found);
}

void SupervisorChildren::AddTemplate(SupervisorChildSpecPtr spec) {
  const gen::Atom name = spec->name;
  templates_.emplace(name, Template{std::move(spec)});
}

SupervisorChildren::Template* SupervisorChildren::FindTemplate(gen::Atom name) {
  const auto found = templates_.find(name);
  return found == templates_.end() ? nullptr : &found->second;
}

SupervisorChildren::Entry* SupervisorChildren::Find(Key key) {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

std::optional<SupervisorChildren::Key> SupervisorChildren::FindName(gen::Atom name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::optional<SupervisorChildren::Key> SupervisorChildren::FindProcess(gen::PID pid) const {
  const auto found = by_process_.find(pid);
  if (found == by_process_.end()) return std::nullopt;
  return found->second;
}

void SupervisorChildren::SetProcess(Key key, gen::PID pid, gen::Ref monitor) {
  Entry& entry = entries_.at(key);
  entry.pid = pid;
  entry.monitor = monitor;
  entry.started = false;
  by_process_.emplace(pid, key);
}

void SupervisorChildren::ClearProcess(Entry& entry) {
  if (entry.pid) by_process_.erase(entry.pid);
  entry.pid = gen::PID();
  entry.started = false;
  (void)entry.killer.Cancel();
  entry.killer = {};
}

bool SupervisorChildren::AwaitEndOfAll(gen::Atom template_name, gen::PID from, gen::Ref ref) {
  const auto left = std::make_shared<std::size_t>(0);
  for (auto& [key, entry] : entries_) {
    if (entry.template_name != template_name) continue;
    ++*left;
    entry.waiters.push_back({.from = from, .ref = ref, .until_started = false, .left = left});
  }
  return *left != 0;
}

std::vector<SupervisorChild> SupervisorChildren::List(const SupervisionStrategy& strategy) const {
  std::vector<SupervisorChild> list;
  list.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    const SupervisionStrategy::Child* child = strategy.Find(key);
    if (child == nullptr) continue;
    list.push_back(
        {.name = entry.spec->name,
         .pid = entry.pid,
         .state = entry.postponed != 0 ? SupervisorChildState::kWaiting : StateOf(*child),
         .restarts = child->restarts,
         .significant = child->significant});
  }
  return list;
}

}  // namespace ergon::act
