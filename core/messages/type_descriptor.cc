#include <ergon/core/messages/type_descriptor.h>

#include <ergon/core/foundations/demangle.h>

namespace ergon::core {

std::string TypeDescriptor::Name() const { return Demangle(info->name()); }

}  // namespace ergon::core
