#include <ergon/core/foundations/demangle.h>

#include <string>
#include <typeinfo>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::core::demangle_test {

TEST_CASE("demangle: a name as written in C++") { CHECK(Demangle(typeid(int).name()) == "int"); }

TEST_CASE("demangle: strings are called as in the program") {
  CHECK(Demangle(typeid(std::string).name()) == "std::string");
  CHECK(Demangle(typeid(std::vector<std::string>).name()) ==
        "std::vector<std::string, std::allocator<std::string > >");
}

TEST_CASE("demangle: what is not a mangled name stays as it is") {
  CHECK(Demangle("not a name") == "not a name");
  CHECK(Demangle("") == "");
}

}  // namespace ergon::core::demangle_test
