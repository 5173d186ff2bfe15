// Lists that are searched by a key: what is in them, in which order, and how many entries are looked at.
#include <ergon/core/foundations/keyed_list.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <kit/eventually.h>
#include <kit/one_thread.h>

namespace ergon::core {
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

// The look at a key that throws, counted from 1; 0: none.
int fails_at = 0;

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
      } else if (what < 13) {
        const auto taken = list.Take(key);
        REQUIRE(taken.has_value() == (found != expected.end()));
        if (!taken) continue;
        CHECK(taken->text == found->text);
        expected.erase(found);
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

TEST_CASE("keyed list: what is taken by a condition leaves the others where they are" *
          kit::OneThread()) {
  NumberedList list;
  for (std::uint64_t id = 0; id < 1000; ++id) list.push_back({id, {}});
  KeyOfNumbered::looks = 0;
  for (std::uint64_t id = 0; id < 1000; id += 10) {
    CHECK(list.TakeIf([&](const Numbered& entry) { return entry.id / 2 == id / 2; }).size() == 2);
  }
  CHECK(list.size() == 800);
  CHECK(KeyOfNumbered::looks == 200);
}

TEST_CASE("keyed list: an index that cannot be made, or grow, leaves the list as it is") {
  struct Key {
    std::uint64_t operator()(const std::uint64_t& entry) const {
      if (fails_at > 0 && --fails_at == 0) throw std::bad_alloc();
      return entry;
    }
  };
  constexpr std::uint64_t kEntries = 40;
  for (int n = 1; n < 200; ++n) {
    KeyedList<std::uint64_t, Key> list;
    std::vector<std::uint64_t> expected;
    fails_at = n;
    for (std::uint64_t i = 0; i < kEntries; ++i) {
      try {
        list.push_back(i);
        expected.push_back(i);
      } catch (const std::bad_alloc&) {
      }
    }
    fails_at = 0;
    REQUIRE(std::vector<std::uint64_t>(list.begin(), list.end()) == expected);
    for (const std::uint64_t entry : expected) REQUIRE(list.Contains(entry));
    for (const std::uint64_t entry : expected) REQUIRE(list.Remove(entry));
    REQUIRE(list.empty());
  }
}

}  // namespace ergon::core
