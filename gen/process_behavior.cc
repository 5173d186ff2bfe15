#include <ergon/core/foundations/demangle.h>
#include <ergon/core/foundations/tell_thrown.h>
#include <ergon/gen/process_behavior.h>

#include <optional>
#include <typeinfo>
#include <utility>

namespace ergon::gen {

std::string ProcessBehavior::BehaviorName() const {
  const ProcessBehavior& self = *this;
  return core::Demangle(typeid(self).name());
}

std::string BehaviorNameOf(const ProcessBehavior& behavior) {
  std::optional<std::string> name;
  core::CallUser("BehaviorName", [&] { name = behavior.BehaviorName(); });
  return name ? std::move(*name) : core::Demangle(typeid(behavior).name());
}

}  // namespace ergon::gen
