#include <ergon/node/spawning/lineage.h>

#include <memory>
#include <mutex>
#include <utility>

namespace ergon::node {

std::uint64_t Lineage::LeaderOf(const SpawnRequest& request, const ProcessSlot* parent) {
  if (request.options.leader) return request.options.leader.id;
  return parent == nullptr ? 0 : parent->leader_id();
}

SharedEnvironment Lineage::EnvironmentOf(const SpawnRequest& request, const ProcessSlot* parent) {
  const gen::Environment& own = request.options.environment;
  if (!own.empty()) environment_.NoteUse();
  SharedEnvironment values;
  if (!own.empty()) values = std::make_shared<const gen::Environment>(own);
  // Its turn: nobody changes it meanwhile.
  if (parent != nullptr) values = Above(values, parent->environment());
  const gen::PID leader = addresses_.PidOf(LeaderOf(request, parent));
  if (leader != request.parent) values = Above(values, EnvironmentOf(leader));
  SharedEnvironment all = Above(values, environment_.Get());
  return all == nullptr || all->empty() ? nullptr : all;
}

SharedEnvironment Lineage::EnvironmentOf(gen::PID pid) const {
  const ProcessSlot* slot = addresses_.Find(pid);
  if (slot == nullptr) return nullptr;
  std::lock_guard lock(slot->Cold().lock);
  return slot->IsStill(pid) ? slot->environment() : nullptr;
}

void Lineage::SetEnv(ProcessSlot& slot, std::string_view name, gen::AnyValue value) {
  environment_.NoteUse();
  ProcessExtras& extras = slot.Extras();
  SharedEnvironment changed = WithValue(extras.environment, name, std::move(value));
  // Others may look at it, under this lock: those that it leads, and inspection.
  std::lock_guard lock(slot.Cold().lock);
  extras.environment.swap(changed);
}

}  // namespace ergon::node
