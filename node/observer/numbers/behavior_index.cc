#include <ergon/node/observer/numbers/behavior_index.h>

#include <mutex>
#include <utility>

#include <ergon/gen/process_behavior.h>
#include <ergon/node/texts/clean_text.h>

namespace ergon::node {

std::optional<std::uint32_t> BehaviorIndex::Of(const ProcessSlot& slot, std::uint64_t id) {
  constexpr std::size_t kMore = 4'096;  // so that it grows seldom
  if (known_.size() <= slot.index()) known_.resize(slot.index() + kMore);
  Known& known = known_[slot.index()];
  if (known.id == id) return known.behavior;
  const auto name = ReadName(slot, id);
  if (!name) return std::nullopt;
  known = {id, NumberOf(*name)};
  return known.behavior;
}

const std::string* BehaviorIndex::NameOf(const ProcessSlot& slot, std::uint64_t id) {
  const auto behavior = Of(slot, id);
  if (!behavior) return nullptr;
  if (*behavior != kOther) return &names_[*behavior];
  auto name = ReadName(slot, id);
  if (!name) return nullptr;
  other_ = std::move(*name);
  return &other_;
}

std::optional<std::string> BehaviorIndex::ReadName(const ProcessSlot& slot,
                                                   std::uint64_t id) const {
  std::string name;
  {
    ProcessCold& cold = slot.Cold();
    std::lock_guard lock(cold.lock);
    if (!slot.IsStill(addresses_.PidOf(id))) return std::nullopt;
    name = gen::BehaviorNameOf(slot.behavior());
  }
  return LabelValue(name);
}

std::uint32_t BehaviorIndex::NumberOf(const std::string& name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  if (names_.size() > most_) return kOther;
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.push_back(name);
  numbers_.emplace(name, number);
  return number;
}

}  // namespace ergon::node
