#include <ergon/core/foundations/demangle.h>

#include <cstdlib>
#include <string_view>

#include <cxxabi.h>

namespace ergon::core {

namespace {

// As in the program's text: what the compiler makes of them fills whole lines.
void Replace(std::string& name, std::string_view long_one, std::string_view short_one) {
  for (std::size_t at = name.find(long_one); at != std::string::npos;
       at = name.find(long_one, at)) {
    name.replace(at, long_one.size(), short_one);
  }
}

}  // namespace

std::string Demangle(const char* mangled) {
  int status = 0;
  char* readable = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 && readable != nullptr ? readable : mangled;
  std::free(readable);
  Replace(name, "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
          "std::string");
  Replace(name, "std::basic_string_view<char, std::char_traits<char> >", "std::string_view");
  return name;
}

}  // namespace ergon::core
