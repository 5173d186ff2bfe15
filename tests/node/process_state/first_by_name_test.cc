#include <ergon/node/process_state/first_by_name.h>

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::node {
namespace {

using Entries = std::vector<std::pair<gen::Atom, int>>;

Entries FirstByName(std::size_t most) {
  Entries entries{{gen::Atom("queue"), 1}, {gen::Atom("door"), 2}, {gen::Atom("lamp"), 3}};
  KeepFirstByName(entries, most);
  return entries;
}

}  // namespace

TEST_CASE("the first entries by name: in order, and not more than asked for") {
  CHECK(FirstByName(2) == Entries{{gen::Atom("door"), 2}, {gen::Atom("lamp"), 3}});
  CHECK(FirstByName(0).empty());
  CHECK(FirstByName(3).back() == std::pair(gen::Atom("queue"), 1));
  CHECK(FirstByName(100) == FirstByName(3));
}

}  // namespace ergon::node
