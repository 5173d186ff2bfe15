#include <doctest/doctest.h>

#include <ergon/node/erlang/codec/crowded.h>

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace ergon::dist::detail::crowded_test {
namespace {

// As if each key had been chosen so.
struct Same {
  std::size_t operator()(int) const { return 7; }
};

// How many of the keys 0, 1, 2... are inserted before one of them is crowded.
template <class Container, class Insert>
int InsertedUntilCrowded(Container& container, int most, Insert insert) {
  for (int i = 0; i < most; ++i) {
    if (IsCrowded(container, insert(container, i))) return i;
  }
  return most;
}

}  // namespace

TEST_CASE("crowded: more different keys in a bucket than a good hash puts there") {
  std::unordered_set<int, Same> set;
  CHECK(InsertedUntilCrowded(set, 1'000, [](auto& into, int key) {
          return into.insert(key).first;
        }) == kMostInBucket);
  std::unordered_map<int, int, Same> map;
  CHECK(InsertedUntilCrowded(map, 1'000, [](auto& into, int key) {
          return into.emplace(key, 1).first;
        }) == kMostInBucket);
  CHECK(CrowdedText() == "more than 128 keys in one bucket: give it another hash");
}

TEST_CASE("crowded: a good hash has as many keys as one likes") {
  std::unordered_set<std::string> set;
  CHECK(InsertedUntilCrowded(set, 20'000, [](auto& into, int key) {
          return into.insert(std::to_string(key)).first;
        }) == 20'000);
}

TEST_CASE(
    "crowded: equal keys are one, however many there are, and whatever else is in their bucket") {
  std::unordered_multimap<int, int, Same> map;
  CHECK(InsertedUntilCrowded(map, 10'000, [](auto& into, int key) {
          return into.emplace(key % static_cast<int>(kMostInBucket), key);
        }) == 10'000);
  // One more that differs.
  CHECK(IsCrowded(map, map.emplace(-1, 0)));
}

TEST_CASE("crowded: what has no buckets is not asked") {
  CHECK(kHasBuckets<std::unordered_multiset<int>>);
  CHECK_FALSE(kHasBuckets<std::map<int, int>>);
}

}  // namespace ergon::dist::detail::crowded_test
