#include <ergon/node/io/other_io.h>

#include <stdexcept>
#include <string>

#include <fmt/core.h>

namespace ergon::node {
namespace {

std::string Spelled(int version) {
  return fmt::format("{}.{}.{}", version / 100'000, version / 100 % 1000, version % 100);
}

}  // namespace

void RequireSameVersion(std::string_view library, int made_with, int used_with) {
  if (made_with == used_with) return;
  throw std::logic_error(fmt::format(
      "the node's I/O was made with {} {} and is used with {}: compile Ergon, the program and its "
      "plugins with one version",
      library, Spelled(made_with), Spelled(used_with)));
}

}  // namespace ergon::node
