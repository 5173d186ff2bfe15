#include <ergon/node/observer/views/process_label.h>

#include <mutex>

namespace ergon::node {

ProcessLabel LabelOf(BehaviorIndex& index, std::uint64_t id) {
  if (id == 0) return {};
  ProcessLabel label{.pid = index.addresses().PidOf(id), .name = {}, .behavior = {}};
  const ProcessSlot* const slot = index.addresses().Find(label.pid);
  if (slot == nullptr) return label;
  label.name = RegisteredName(*slot, label.pid);
  if (const auto* behavior = index.NameOf(*slot, id)) label.behavior = *behavior;
  return label;
}

gen::Atom RegisteredName(const ProcessSlot& slot, gen::PID pid) {
  ProcessCold& cold = slot.Cold();
  std::lock_guard lock(cold.lock);
  return slot.IsStill(pid) ? cold.name : gen::Atom();
}

}  // namespace ergon::node
