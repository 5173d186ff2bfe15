#include <ergon/node/process_state/environments.h>

#include <algorithm>

namespace ergon::node {

gen::AnyValue ValueOf(const SharedEnvironment& values, std::string_view name) {
  if (values == nullptr) return {};
  const auto found = values->find(std::string(name));
  if (found == values->end()) return {};
  return found->second;
}

SharedEnvironment WithValue(const SharedEnvironment& values, std::string_view name,
                            gen::AnyValue value) {
  auto changed = values == nullptr ? std::make_shared<gen::Environment>()
                                   : std::make_shared<gen::Environment>(*values);
  if (value) {
    changed->insert_or_assign(std::string(name), std::move(value));
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

}  // namespace ergon::node
