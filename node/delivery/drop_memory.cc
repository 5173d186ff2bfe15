#include <ergon/core/foundations/demangle.h>
#include <ergon/node/delivery/drop_memory.h>

#include <utility>

namespace ergon::node {

void DropMemory::Keep(Drop drop) {
  if (ring_.size() < size_) {
    ring_.push_back(std::move(drop));
    return;
  }
  ring_[next_] = std::move(drop);
  next_ = (next_ + 1) % size_;
}

std::vector<gen::DroppedMessage> DropMemory::Newest(std::int64_t started_at) const {
  std::vector<Drop> drops;
  {
    const std::lock_guard lock(mutex_);
    drops.reserve(ring_.size());
    for (std::size_t i = ring_.size(); i > 0; --i) {
      drops.push_back(ring_[(next_ + i - 1) % ring_.size()]);
    }
  }
  std::vector<gen::DroppedMessage> list;
  list.reserve(drops.size());
  for (const Drop& drop : drops) list.push_back(Describe(drop, started_at));
  return list;
}

gen::DroppedMessage DropMemory::Describe(const Drop& drop, std::int64_t started_at) {
  return {
      .time = std::chrono::nanoseconds(drop.time),
      .uptime = std::chrono::nanoseconds(drop.time - started_at),
      .to = drop.to,
      .behavior = drop.behavior == nullptr ? std::string() : core::Demangle(drop.behavior->name()),
      .from = drop.from,
      .type = drop.type == nullptr ? std::string() : drop.type->TagOrName(),
      .reason = drop.reason,
      .error = drop.error.ToString()};
}

}  // namespace ergon::node
