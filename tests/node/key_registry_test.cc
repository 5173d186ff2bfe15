#include <ergon/gen/key_registry.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "subject.h"

namespace ergon::node {
namespace {

TEST_CASE("key registry: unique keys of any type, with values, from processes and threads") {
  TestNode t;
  struct Seat {
    int row;
    char place;
    bool operator==(const Seat&) const = default;
  };
  struct HashOfSeat {
    std::size_t operator()(const Seat& seat) const noexcept {
      return static_cast<std::size_t>(seat.row * 31 + seat.place);
    }
  };
  auto seats = gen::KeyRegistry<Seat, std::string, HashOfSeat>::Start(t.node).value();
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  CHECK(seats.Register({1, 'a'}, one, "window"));
  const auto taken = seats.Register({1, 'a'}, two);
  CHECK(taken.error() == gen::ErrTaken);
  CHECK(taken.error().detail() == "the key belongs to " + one.ToString());
  CHECK(t.Run(two, [seats](Subject& self) mutable {
    CHECK(seats.Register({1, 'b'}, self.Self(), "aisle"));
    CHECK(seats.Register({2, 'b'}, self.Self()));
  }));
  CHECK(seats.Find({1, 'a'})->pid == one);
  CHECK(seats.Find({1, 'b'})->value == "aisle");
  CHECK_FALSE(seats.Find({9, 'x'}));
  CHECK(seats.KeysOf(two) == std::vector<Seat>{{1, 'b'}, {2, 'b'}});
  CHECK(seats.size() == 3);
  CHECK(seats.Unregister({1, 'b'}, two));
  CHECK_FALSE(seats.Unregister({1, 'b'}, two));
  CHECK_FALSE(seats.Unregister({1, 'a'}, two));
  CHECK(seats.KeysOf(two) == std::vector<Seat>{{2, 'b'}});
}

TEST_CASE("key registry: of a node that is moved afterwards") {
  auto first = Start("moves@localhost").value();
  auto rooms = gen::KeyRegistry<int>::Start(first).value();
  Node node = std::move(first);
  const gen::PID pid = node.Spawn(Make({})).value();
  CHECK(rooms.Register(1, pid));
  CHECK(rooms.Find(1)->pid == pid);
}

TEST_CASE("key registry: free again when the process has ended, also if it had before") {
  TestNode t;
  auto rooms = gen::KeyRegistry<int>::Start(t.node).value();
  const gen::PID pid = t.Spawn();
  CHECK(rooms.Register(1, pid));
  CHECK(rooms.Register(2, pid));
  CHECK(t.node.Kill(pid));
  CHECK(kit::Eventually([&] { return rooms.size() == 0; }));
  CHECK(rooms.KeysOf(pid).empty());
  CHECK(rooms.Register(3, pid));  // it has ended
  CHECK(kit::Eventually([&] { return rooms.size() == 0; }));
  CHECK(rooms.Register(1, t.Spawn()));
}

TEST_CASE("key registry: duplicate keys") {
  TestNode t;
  auto topics =
      gen::KeyRegistry<std::string, int>::Start(t.node, gen::RegistryKeys::kDuplicate).value();
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  CHECK(topics.Register("news", one, 1));
  CHECK(topics.Register("news", two, 2));
  const auto again = topics.Register("news", two, 3);
  CHECK(again.error() == gen::ErrTaken);
  CHECK(again.error().detail() == two.ToString() + " has registered this key already");
  CHECK(topics.FindAll("news").size() == 2);
  CHECK(topics.Find("news")->pid == one);
  CHECK(topics.Unregister("news", one));
  CHECK(topics.Find("news")->value == 2);
  CHECK(topics.FindAll("weather").empty());
}

// One number of these throws where it is told to.
struct FragileKey {
  enum class Where { kNowhere, kCopy, kHash, kEqual };
  explicit FragileKey(int number_in) : number(number_in) {}
  FragileKey(const FragileKey& other) : number(other.number) { ThrowAt(Where::kCopy, number); }
  FragileKey& operator=(const FragileKey& other) = default;
  FragileKey(FragileKey&&) = default;
  FragileKey& operator=(FragileKey&&) = default;
  ~FragileKey() = default;
  bool operator==(const FragileKey& other) const {
    ThrowAt(Where::kEqual, number);
    return number == other.number;
  }
  static void ThrowAt(Where where, int number) {
    if (number == 2 && where == place && passes.fetch_sub(1) == 0) {
      passes = 0;
      throw std::runtime_error("fragile");
    }
  }
  static inline std::atomic<Where> place{Where::kNowhere};
  static inline std::atomic<int> passes{0};  // before it throws
  int number;
};
struct HashOfFragileKey {
  std::size_t operator()(const FragileKey& key) const {
    FragileKey::ThrowAt(FragileKey::Where::kHash, key.number);
    return static_cast<std::size_t>(key.number);
  }
};

TEST_CASE("key registry: what a key throws is told to who asks, and nothing is changed") {
  using Where = FragileKey::Where;
  TestNode t;
  const gen::PID one = t.Spawn();
  for (const Where where : {Where::kCopy, Where::kHash, Where::kEqual}) {
    for (int passes = 0; passes < 8; ++passes) {
      CAPTURE(static_cast<int>(where));
      CAPTURE(passes);
      auto keys = gen::KeyRegistry<FragileKey, int, HashOfFragileKey>::Start(t.node).value();
      CHECK(keys.Register(FragileKey(1), one, 1));
      const FragileKey key(2);
      const auto throws = [&](auto&& does) {
        FragileKey::passes = passes;
        FragileKey::place = where;
        try {
          const bool is_done = does();
          FragileKey::place = Where::kNowhere;
          CHECK(is_done);
          return false;
        } catch (const std::runtime_error&) {
          FragileKey::place = Where::kNowhere;
          return true;
        }
      };
      if (throws([&] { return keys.Register(key, one, 2).has_value(); })) {
        CHECK(keys.size() == 1);
        CHECK_FALSE(keys.Find(key));
        CHECK(keys.KeysOf(one).size() == 1);
        CHECK(keys.Register(key, one, 2));
      }
      if (throws([&] { return keys.Unregister(key, one); })) {
        CHECK(keys.Find(key));
        CHECK(keys.KeysOf(one).size() == 2);
        CHECK(keys.Unregister(key, one));
      }
      CHECK(keys.size() == 1);
      CHECK(keys.KeysOf(one).size() == 1);
    }
  }
}

// A key and a value that cannot be assigned, only copied.
struct Unassignable {
  explicit Unassignable(int number_in) : number(number_in) {}
  Unassignable(const Unassignable& other) = default;
  Unassignable& operator=(const Unassignable&) { throw std::runtime_error("assigned"); }
  ~Unassignable() = default;
  bool operator==(const Unassignable& other) const = default;
  int number;
};
struct HashOfUnassignable {
  std::size_t operator()(const Unassignable& key) const {
    return static_cast<std::size_t>(key.number);
  }
};

TEST_CASE("key registry: what is taken out assigns no key and no value") {
  TestNode t;
  auto keys = gen::KeyRegistry<Unassignable, Unassignable, HashOfUnassignable>::Start(
                  t.node, gen::RegistryKeys::kDuplicate)
                  .value();
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  for (const gen::PID pid : {one, two})
    for (int number = 1; number <= 3; ++number)
      CHECK(keys.Register(Unassignable(number), pid, Unassignable(10 * number)));
  CHECK(keys.Unregister(Unassignable(1), one));
  CHECK(keys.KeysOf(one) == std::vector{Unassignable(2), Unassignable(3)});
  CHECK(keys.FindAll(Unassignable(1)).size() == 1);
  CHECK(keys.Find(Unassignable(1))->pid == two);
  CHECK(keys.Find(Unassignable(1))->value == Unassignable(10));
  CHECK(t.node.Kill(one));
  CHECK(kit::Eventually([&] { return keys.KeysOf(one).empty(); }));
  CHECK(keys.FindAll(Unassignable(3)).size() == 1);
  CHECK(keys.KeysOf(two).size() == 3);
}

TEST_CASE("key registry: a key that throws when its process has ended stays taken, and no other") {
  TestNode t;
  auto keys = gen::KeyRegistry<FragileKey, int, HashOfFragileKey>::Start(t.node).value();
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  for (int number = 1; number <= 3; ++number) CHECK(keys.Register(FragileKey(number), one));
  CHECK(keys.Register(FragileKey(4), two));
  FragileKey::passes = 0;
  FragileKey::place = FragileKey::Where::kHash;
  CHECK(t.node.Kill(one));
  CHECK(kit::Eventually([&] { return keys.size() == 2; }));
  CHECK(kit::Eventually([&] {
    return t.log.Contains("key registry: a key of " + one.ToString() +
                          ", which has ended, stays taken: the key threw: fragile");
  }));
  CHECK(keys.KeysOf(one).size() == 1);
  FragileKey::place = FragileKey::Where::kNowhere;
  // It goes on.
  CHECK(t.node.Kill(two));
  CHECK(kit::Eventually([&] { return keys.size() <= 1 && !keys.Find(FragileKey(4)); }));
  // What a Register had asked to watch may be looked at only now: then the key that was stuck is
  // free already, also before those of `two` are.
  (void)keys.Unregister(FragileKey(2), one);
  CHECK(keys.Register(FragileKey(2), t.Spawn()));
  CHECK(keys.size() == 1);
}

// Counts how often two of its kind are compared.
struct CountedKey {
  explicit CountedKey(int number_in) : number(number_in) {}
  bool operator==(const CountedKey& other) const {
    ++compared;
    return number == other.number;
  }
  static inline std::atomic<int> compared{0};
  int number;
};
struct HashOfCountedKey {
  std::size_t operator()(const CountedKey& key) const noexcept {
    return static_cast<std::size_t>(key.number);
  }
};

TEST_CASE("key registry: of many keys of a process each one costs the same") {
  constexpr int kKeys = kit::Scaled(2'000);
  TestNode t;
  auto keys = gen::KeyRegistry<CountedKey, std::monostate, HashOfCountedKey>::Start(t.node).value();
  const gen::PID pid = t.Spawn();
  for (int i = 0; i < kKeys; ++i) CHECK(keys.Register(CountedKey(i), pid));
  CountedKey::compared = 0;
  for (int i = kKeys; i-- > 0;) CHECK(keys.Unregister(CountedKey(i), pid));
  CHECK(CountedKey::compared < 20 * kKeys);
  CHECK(keys.size() == 0);
}

TEST_CASE("key registry: many processes share a key, and end in any order") {
  // If each registration looked through those before it, this would take minutes.
  constexpr int kProcesses = kit::Scaled(100'000, 4);
  TestNode t;
  auto topics = gen::KeyRegistry<int>::Start(t.node, gen::RegistryKeys::kDuplicate).value();
  std::vector<gen::PID> members;
  for (int i = 0; i < kProcesses; ++i) {
    members.push_back(t.Spawn());
    topics.Register(1, members.back()).value();
  }
  REQUIRE(topics.FindAll(1).size() == members.size());
  CHECK(topics.FindAll(1)[7].pid == members[7]);
  const auto half = members.begin() + kProcesses / 2;
  std::for_each(std::make_reverse_iterator(half), members.rend(),
                [&](gen::PID pid) { CHECK(topics.Unregister(1, pid)); });
  CHECK(topics.Find(1)->pid == *half);
  std::for_each(members.rbegin(), std::make_reverse_iterator(half),
                [&](gen::PID pid) { t.node.Kill(pid).value(); });
  CHECK(kit::Eventually([&] { return topics.size() == 0; }));
}

TEST_CASE("key registry: after the node has stopped it refuses") {
  Node node = Start("test@localhost", {.log_level = gen::LogLevel::kOff}).value();
  auto rooms = gen::KeyRegistry<int>::Start(node).value();
  const gen::PID pid = node.Spawn(Make({})).value();
  node.Stop();
  CHECK(rooms.Register(1, pid).error() == gen::ErrNodeTerminated);
  CHECK(rooms.size() == 0);
}

TEST_CASE(
    "key registry: registered, ended and looked for from many threads, nothing stays behind") {
  TestNode t;
  auto rooms = gen::KeyRegistry<int>::Start(t.node).value();
  std::atomic<int> won{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kit::Scaled(500); ++i) {
          const gen::PID pid = t.Spawn();
          auto mine = rooms;
          won += mine.Register(i % 7, pid) ? 1 : 0;
          if (auto found = rooms.Find((i + thread) % 7)) (void)t.node.Send(found->pid, End{});
          if (i % 3 == 0) (void)mine.Unregister(i % 7, pid);
          (void)t.node.Kill(pid);
        }
      });
    }
  }
  CHECK(won > 0);
  CHECK(kit::Eventually([&] { return rooms.size() == 0; }));
}

// A key and a value whose copies tell when they are destroyed; they are copied when they should be moved.
struct Telling {
  explicit Telling(int number_in) : number(number_in) {}
  Telling(const Telling& other) = default;
  Telling& operator=(const Telling& other) = default;
  ~Telling() {
    if (!told || std::exchange(tells, true)) return;
    told();
    tells = false;
  }
  bool operator==(const Telling& other) const = default;
  int number;
  static inline std::function<void()> told;
  static inline thread_local bool tells = false;
};
struct HashOfTelling {
  std::size_t operator()(const Telling& key) const { return static_cast<std::size_t>(key.number); }
};

TEST_CASE("key registry: copies of keys and values may use the registry while they are destroyed") {
  TestNode t;
  auto keys = gen::KeyRegistry<Telling, Telling, HashOfTelling>::Start(t.node).value();
  const gen::PID one = t.Spawn();
  std::atomic<int> told{0};
  Telling::told = [&told, keys, one]() mutable {
    (void)keys.Unregister(Telling(99), one);  // waits for all others
    ++told;
  };
  for (int number = 1; number <= 5; ++number) {
    CHECK(keys.Register(Telling(number), one, Telling(number)));
  }
  CHECK(keys.KeysOf(one).size() == 5);
  CHECK(keys.FindAll(Telling(3)).size() == 1);
  CHECK(keys.Find(Telling(3))->value.number == 3);
  CHECK(keys.Unregister(Telling(3), one));
  CHECK(t.node.Kill(one));
  CHECK(kit::Eventually([&] { return keys.size() == 0; }));
  CHECK(told > 5);
  t.node.Stop();  // the registry's process may still be in a destructor
  Telling::told = nullptr;
}

TEST_CASE("key registry: a value may use the registry while it is destroyed") {
  TestNode t;
  auto keys = gen::KeyRegistry<int, std::shared_ptr<int>>::Start(t.node).value();
  std::atomic<int> closed{0};
  const auto session = [&] {
    return std::shared_ptr<int>(new int(1), [&closed, keys](const int* value) {
      delete value;
      CHECK_FALSE(keys.Find(2));
      ++closed;
    });
  };
  const gen::PID one = t.Spawn();
  CHECK(keys.Register(1, one, session()));
  CHECK(keys.Unregister(1, one));
  CHECK(closed == 1);
  CHECK(keys.Register(1, one, session()));
  CHECK(t.node.Kill(one));
  CHECK(kit::Eventually([&] { return closed == 2; }));
}

}  // namespace
}  // namespace ergon::node
