#include <ergon/core/foundations/demangle.h>
#include <ergon/gen/process_behavior.h>

#include <typeinfo>

namespace ergon::gen {

std::string ProcessBehavior::BehaviorName() const {
  const ProcessBehavior& self = *this;
  return core::Demangle(typeid(self).name());
}

}  // namespace ergon::gen
