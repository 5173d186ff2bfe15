#include <ergon/node/observer/numbers/census.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include <ergon/gen/process_behavior.h>
#include <ergon/node/texts/clean_text.h>

namespace ergon::node {
namespace {

void AddPool(const ProcessSlot& slot, gen::PID pid, CensusFigures& figures) {
  ProcessCold& cold = slot.Cold();
  std::lock_guard lock(cold.lock);
  if (!slot.IsStill(pid)) return;
  figures.pools.push_back({pid, LabelValue(cold.name.empty() ? gen::BehaviorNameOf(slot.behavior())
                                                             : cold.name.ToString())});
}

}  // namespace

CensusFigures TakeCensus(gen::Process& self, BehaviorIndex& index, std::size_t max_pools) {
  CensusFigures figures;
  std::vector<BehaviorFigures> found;
  const auto look = [&](const ProcessSlot& slot, std::uint64_t id) {
    const auto behavior = index.Of(slot, id);
    if (!behavior) return;
    if (found.size() < index.size()) found.resize(index.size());
    BehaviorFigures& sum = found[*behavior];
    const std::uint64_t queued = slot.MainMessagesApprox() + slot.ExpressQueuedApprox();
    ++sum.processes;
    sum.queued += queued;
    sum.longest = std::max(sum.longest, queued);
    sum.held += slot.AsideApprox();
    ++figures.states[static_cast<std::size_t>(slot.State())];
    if (!slot.IsPool()) return;
    ++figures.pools_in_all;
    if (figures.pools.size() < max_pools) AddPool(slot, index.addresses().PidOf(id), figures);
  };
  VisitProcesses(self, index.addresses(), look);
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    if (i == BehaviorIndex::kOther && found[i].processes == 0) continue;
    found[i].behavior = index.Name(i);
    figures.behaviors.push_back(std::move(found[i]));
  }
  return figures;
}

}  // namespace ergon::node
