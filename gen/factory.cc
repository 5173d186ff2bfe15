#include <ergon/gen/factory.h>

#include <ergon/core/foundations/demangle.h>

namespace ergon::gen {

std::unique_ptr<ProcessBehavior> ProcessFactory::Make() const { return make_(); }

std::string ProcessFactory::TypeName() const {
  return type_ == nullptr ? std::string() : core::Demangle(type_->name());
}

}  // namespace ergon::gen
