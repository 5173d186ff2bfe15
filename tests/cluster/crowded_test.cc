#include <doctest/doctest.h>

#include <ergon/node/erlang/codec/crowded.h>

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

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

TEST_CASE("crowded: equal keys are one, however many there are, and stay in order") {
  std::unordered_multimap<int, int, Same> map;
  FillingBuckets filling(map);
  constexpr int kKeys = kMostInBucket;
  for (int i = 0; i < 10'000; ++i) REQUIRE(filling.Add(std::pair(i % kKeys, i)));
  CHECK(filling.Finish());
  REQUIRE(map.size() == 10'000);
  int last = -kKeys;
  const auto [begin, end] = map.equal_range(0);
  for (auto at = begin; at != end; ++at) {
    CHECK(at->second == last + kKeys);
    last = at->second;
  }
  CHECK(last == 9'984);
  FillingBuckets again(map);
  for (int i = 0; i < kKeys; ++i) REQUIRE(again.Add(std::pair(i, i)));
  CHECK_FALSE(again.Add(std::pair(-1, 0)));  // one more that differs
}

TEST_CASE("crowded: no key is looked for behind all those of another one") {
  static std::size_t compared = 0;
  struct Counting {
    bool operator()(int a, int b) const {
      ++compared;
      return a == b;
    }
  };
  constexpr std::size_t kEach = 1'000;
  std::unordered_multiset<int, Same, Counting> set;
  FillingBuckets filling(set);
  for (const int key : {1, 2, 1, 2}) {
    for (std::size_t i = 0; i < kEach; ++i) REQUIRE(filling.Add(int(key)));
  }
  CHECK(filling.Finish());
  CHECK(set.size() == 4 * kEach);
  CHECK(compared < 10 * 4 * kEach);
}

TEST_CASE("crowded: keys that share a bucket of the whole container only are found, too") {
  constexpr std::size_t kElements = 20'000;
  std::unordered_multiset<std::size_t> whole;
  whole.reserve(kElements);
  std::unordered_multiset<std::size_t> set;
  FillingBuckets filling(set);
  for (std::size_t i = 0; i <= kMostInBucket; ++i) {
    REQUIRE(filling.Add(i * whole.bucket_count()));
  }
  for (std::size_t i = kMostInBucket + 1; i < kElements; ++i) REQUIRE(filling.Add(std::size_t{1}));
  CHECK_FALSE(filling.Finish());
}

TEST_CASE("crowded: a key may be true or false") {
  std::unordered_multiset<bool> set;
  FillingBuckets filling(set);
  for (const bool key : {true, false, true}) CHECK(filling.Add(bool(key)));
  CHECK(filling.Finish());
  CHECK(set.count(true) == 2);
}

TEST_CASE("crowded: what has no buckets is not asked") {
  CHECK(kHasEqualKeys<std::unordered_multiset<int>>);
  CHECK(kHasEqualKeys<std::unordered_multimap<int, int>>);
  CHECK_FALSE(kHasEqualKeys<std::unordered_map<int, int>>);
  CHECK(kHasBuckets<std::unordered_multiset<int>>);
  CHECK_FALSE(kHasBuckets<std::map<int, int>>);
}

}  // namespace ergon::dist::detail::crowded_test
