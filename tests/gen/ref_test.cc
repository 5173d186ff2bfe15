#include <ergon/gen/ref.h>

#include <type_traits>
#include <unordered_set>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

static_assert(std::is_trivially_copyable_v<Ref>);
static_assert(sizeof(Ref) == 16);

TEST_CASE("ref: compared by all fields") {
  const Ref ref{4711, Atom("demo@localhost"), 1};
  CHECK_FALSE(Ref());
  CHECK(bool(ref));
  CHECK(ref == Ref{4711, Atom("demo@localhost"), 1});
  CHECK(ref != Ref{4712, Atom("demo@localhost"), 1});
  CHECK(ref != Ref{4711, Atom("other@localhost"), 1});
  CHECK(ref != Ref{4711, Atom("demo@localhost"), 2});
  CHECK(ref < Ref{4712, Atom("demo@localhost"), 1});
}

TEST_CASE("ref: as text and as a key") {
  const Ref ref{4711, Atom("demo@localhost"), 1};
  CHECK(ref.ToString() == "Ref#<demo@localhost.4711>");
  CHECK(fmt::format("{}", ref) == ref.ToString());
  const std::unordered_set<Ref> set{ref, ref, Ref{1, {}, 0}};
  CHECK(set.size() == 2);
}

}  // namespace
}  // namespace ergon::gen
