#include <ergon/node/lifecycle/node_environment.h>

#include <algorithm>

namespace ergon::node {

SharedEnvironment WithValue(const SharedEnvironment& values, std::string_view name,
                            std::optional<std::string> value) {
  auto changed = values == nullptr ? std::make_shared<gen::Environment>()
                                   : std::make_shared<gen::Environment>(*values);
  if (value) {
    changed->insert_or_assign(std::string(name), std::move(*value));
  } else {
    changed->erase(std::string(name));
  }
  return changed;
}

SharedEnvironment Above(const SharedEnvironment& values, const SharedEnvironment& below) {
  if (values == nullptr || values->empty()) return below;
  if (below == nullptr || below == values) return values;
  const bool adds_nothing = std::all_of(below->begin(), below->end(), [&](const auto& one) {
    return values->find(one.first) != values->end();
  });
  if (adds_nothing) return values;
  auto both = std::make_shared<gen::Environment>(*values);
  both->insert(below->begin(), below->end());
  return both;
}

NodeEnvironment::NodeEnvironment(const gen::Environment& values)
    : used_(!values.empty()), values_(std::make_shared<const gen::Environment>(values)) {}

SharedEnvironment NodeEnvironment::Get() const {
  std::lock_guard lock(mutex_);
  return values_;
}

void NodeEnvironment::Set(std::string_view name, std::optional<std::string> value) {
  std::lock_guard lock(mutex_);
  NoteUse();
  values_ = WithValue(values_, name, std::move(value));
}

}  // namespace ergon::node
