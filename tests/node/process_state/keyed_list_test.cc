// Lists that are searched by a key: what is in them, in which order, and how many entries are looked at.
#include <ergon/node/process_state/keyed_list.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <kit/eventually.h>
#include <kit/one_thread.h>

namespace ergon::node {
namespace {

struct Numbered {
  std::uint64_t id = 0;
  std::string text;
};
struct KeyOfNumbered {
  static inline std::uint64_t looks = 0;
  std::uint64_t operator()(const Numbered& entry) const {
    ++looks;
    return entry.id;
  }
};
using NumberedList = KeyedList<Numbered, KeyOfNumbered>;

std::vector<std::uint64_t> IdsOf(const NumberedList& list) {
  std::vector<std::uint64_t> ids;
  for (const Numbered& entry : list) ids.push_back(entry.id);
  return ids;
}

}  // namespace

TEST_CASE("keyed list: it is what a vector would be, short or long" * kit::OneThread()) {
  std::mt19937 random(1);
  for (const std::uint64_t keys : {5, 40, 1000}) {
    NumberedList list;
    std::vector<Numbered> expected;
    for (int step = 0; step < kit::Scaled(20'000, 4); ++step) {
      const std::uint64_t key = random() % keys;
      const auto is_it = [&](const Numbered& entry) { return entry.id == key; };
      const auto found = std::find_if(expected.begin(), expected.end(), is_it);
      REQUIRE(list.Contains(key) == (found != expected.end()));
      if (found != expected.end()) CHECK(list.Find(key)->text == found->text);
      const auto what = random() % 20;
      if (what < 9 && expected.size() < 2 * keys) {
        list.push_back({key, std::to_string(step)});
        expected.push_back({key, std::to_string(step)});
      } else if (what < 17) {
        CHECK(list.Remove(key) == (found != expected.end()));
        if (found != expected.end()) expected.erase(found);
      } else if (what == 17) {
        const auto taken = list.TakeIf(is_it);
        CHECK(taken.size() == std::erase_if(expected, is_it));
      } else if (what == 18) {
        Numbered taken;
        const auto last = std::find_if(expected.rbegin(), expected.rend(), is_it);
        REQUIRE(list.TakeLastIf(is_it, taken) == (last != expected.rend()));
        if (last == expected.rend()) continue;
        CHECK(taken.text == last->text);
        expected.erase(std::next(last).base());
      } else if (step % 500 == 0) {
        NumberedList other;
        other.swap(list);
        CHECK(list.empty());
        list.swap(other);
      }
      REQUIRE(list.size() == expected.size());
      CHECK(list.empty() == expected.empty());
      if (step % 100 != 0) continue;
      std::vector<std::uint64_t> ids;
      for (const Numbered& entry : expected) ids.push_back(entry.id);
      REQUIRE(IdsOf(list) == ids);
    }
  }
}

TEST_CASE("keyed list: each entry costs the same, however many there are" * kit::OneThread()) {
  constexpr std::uint64_t kMany = kit::Scaled(100'000, 4);
  for (const bool from_the_front : {true, false}) {
    NumberedList list;
    KeyOfNumbered::looks = 0;
    for (std::uint64_t id = 0; id < kMany; ++id) {
      if (!list.Contains(id)) list.push_back({id, {}});
    }
    for (std::uint64_t i = 0; i < kMany; ++i) {
      CHECK(list.Remove(from_the_front ? i : kMany - 1 - i));
    }
    CHECK(list.empty());
    CHECK(KeyOfNumbered::looks < 8 * kMany);
  }
}

}  // namespace ergon::node
