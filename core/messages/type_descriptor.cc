#include <ergon/core/messages/type_descriptor.h>

#include <cstdlib>

#include <cxxabi.h>

namespace ergon::core {

std::string Demangle(const char* mangled) {
  int status = 0;
  char* readable = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 && readable != nullptr ? readable : mangled;
  std::free(readable);
  return name;
}

std::string TypeDescriptor::Name() const { return Demangle(info->name()); }

}  // namespace ergon::core
