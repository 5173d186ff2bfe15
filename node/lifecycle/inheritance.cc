// What processes have from those before them: a leader, and an environment.
#include <mutex>
#include <utility>

#include <ergon/node/lifecycle/runtime.h>

namespace ergon::node {

std::uint64_t Runtime::LeaderOf(const SpawnRequest& request) const {
  const Process* parent = Find(request.parent);
  return parent == nullptr ? 0 : parent->leader_id_.load(std::memory_order_relaxed);
}

SharedEnvironment Runtime::InheritedBy(const SpawnRequest& request) {
  const gen::Environment& own = request.options.environment;
  if (!own.empty()) environment_.NoteUse();
  if (environment_.IsUnused()) return nullptr;
  SharedEnvironment values;
  if (!own.empty()) values = std::make_shared<const gen::Environment>(own);
  const Process* const parent = Find(request.parent);  // its turn: nobody changes it meanwhile
  if (parent != nullptr) {
    values = Above(values, parent->GetEnvironment());
    const gen::PID leader = parent->Leader();
    if (leader != request.parent) values = Above(values, EnvironmentOf(leader));
  }
  SharedEnvironment all = Above(values, environment_.Get());
  return all == nullptr || all->empty() ? nullptr : all;
}

SharedEnvironment Runtime::EnvironmentOf(gen::PID pid) const {
  const Process* process = Find(pid);
  if (process == nullptr) return nullptr;
  std::lock_guard lock(process->Cold().lock);
  const bool is_alive = process->IsStill(pid);
  return is_alive ? process->GetEnvironment() : nullptr;
}

void Runtime::SetEnv(Process& process, std::string_view name, std::optional<std::string> value) {
  environment_.NoteUse();
  auto changed = std::make_unique<SharedEnvironment>(
      WithValue(process.GetEnvironment(), name, std::move(value)));
  // Others may look at it, under this lock: those that it leads, and inspection.
  std::lock_guard lock(process.Cold().lock);
  process.environment_.swap(changed);
}

std::optional<std::string> Runtime::Env(std::string_view name) const {
  const SharedEnvironment values = environment_.Get();
  const auto found = values->find(std::string(name));
  if (found == values->end()) return std::nullopt;
  return found->second;
}

}  // namespace ergon::node
