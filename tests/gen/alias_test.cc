#include <ergon/gen/alias.h>

#include <type_traits>
#include <unordered_set>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

static_assert(std::is_trivially_copyable_v<Alias>);
static_assert(sizeof(Alias) == 16);

TEST_CASE("alias: compared by all fields") {
  const Alias alias{4711, Atom("demo@localhost"), 1};
  CHECK_FALSE(Alias());
  CHECK(bool(alias));
  CHECK(alias == Alias{4711, Atom("demo@localhost"), 1});
  CHECK(alias != Alias{4712, Atom("demo@localhost"), 1});
  CHECK(alias != Alias{4711, Atom("other@localhost"), 1});
  CHECK(alias != Alias{4711, Atom("demo@localhost"), 2});
  CHECK(alias < Alias{4712, Atom("demo@localhost"), 1});
}

TEST_CASE("alias: as text and as a key") {
  const Alias alias{4711, Atom("demo@localhost"), 1};
  CHECK(alias.ToString() == "Alias#<demo@localhost.4711>");
  CHECK(fmt::format("{}", alias) == alias.ToString());
  const std::unordered_set<Alias> set{alias, alias, Alias{1, {}, 0}};
  CHECK(set.size() == 2);
}

}  // namespace
}  // namespace ergon::gen
