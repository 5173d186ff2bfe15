#include <ergon/core/foundations/demangle.h>

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

}  // namespace ergon::core
