// The entries of a map in any order, and how often each is skipped.
#include <ergon/node/erlang/codec/map_entries.h>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist::map_entries_test {
namespace {

using detail::MapEntries;

// A map whose keys are "0", "1", ... with their numbers as values, behind an entry with a long list; and an atom behind
// the map.
std::string MapOf(int keys, std::size_t elements) {
  std::string term;
  TermWriter writer(term);
  const auto opened = writer.OpenMap();
  writer.Integer(0);
  writer.List(elements);
  for (std::size_t i = 0; i < elements; ++i) writer.Nil();
  writer.Nil();
  for (int key = 0; key < keys; ++key) {
    writer.Atom(std::to_string(key));
    writer.Integer(key);
  }
  writer.CloseMap(opened, static_cast<std::size_t>(keys) + 1);
  writer.Atom("behind");
  return term;
}

// Reads the values of keys in that order.
std::vector<std::int64_t> ValuesOf(const std::string& term, const std::vector<int>& keys) {
  TermReader in(term);
  std::size_t size = 0;
  REQUIRE(in.EnterMap(size));
  MapEntries entries(in, size);
  std::vector<std::int64_t> values;
  for (const int key : keys) {
    std::int64_t value = -1;
    if (entries.Find(std::to_string(key))) REQUIRE(in.ReadInteger(value));
    values.push_back(value);
  }
  entries.Leave();
  CHECK(in.NextIsAtom("behind"));
  return values;
}

TEST_CASE("map entries: in any order, few and many, and what is not there") {
  for (const int keys : {5, 100}) {
    CAPTURE(keys);
    const std::string term = MapOf(keys, 3);
    CHECK(ValuesOf(term, {0, 1, 2, 3, 4}) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
    CHECK(ValuesOf(term, {4, 3, 2, 1, 0}) == std::vector<std::int64_t>{4, 3, 2, 1, 0});
    CHECK(ValuesOf(term, {2, 0, 3, 1000, 1, 4}) == std::vector<std::int64_t>{2, 0, 3, -1, 1, 4});
    CHECK(ValuesOf(term, {1000, 2, 1001}) == std::vector<std::int64_t>{-1, 2, -1});
    CHECK(ValuesOf(term, {}).empty());
  }
}

TEST_CASE("map entries: a large value is skipped once, whatever is asked for") {
  constexpr int kKeys = 9'999;
  std::vector<int> backwards;
  for (int key = kKeys; key-- > 0;) backwards.push_back(key);
  // If each key had the list skipped once more, this would take minutes.
  const auto values = ValuesOf(MapOf(kKeys, 2'000'000), backwards);
  CHECK(values.front() == kKeys - 1);
  CHECK(values.back() == 0);
}

}  // namespace
}  // namespace ergon::dist::map_entries_test
