#include <ergon/core/foundations/demangle.h>

#include <typeinfo>

#include <doctest/doctest.h>

namespace ergon::core {

TEST_CASE("demangle: a name as written in C++") { CHECK(Demangle(typeid(int).name()) == "int"); }

TEST_CASE("demangle: what is not a mangled name stays as it is") {
  CHECK(Demangle("not a name") == "not a name");
  CHECK(Demangle("") == "");
}

}  // namespace ergon::core
