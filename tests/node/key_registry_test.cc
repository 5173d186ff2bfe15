#include <ergon/gen/key_registry.h>

#include <atomic>
#include <string>
#include <thread>
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
  CHECK(topics.Register("news", two, 3).error() == gen::ErrTaken);
  CHECK(topics.FindAll("news").size() == 2);
  CHECK(topics.Find("news")->pid == one);
  CHECK(topics.Unregister("news", one));
  CHECK(topics.Find("news")->value == 2);
  CHECK(topics.FindAll("weather").empty());
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

}  // namespace
}  // namespace ergon::node
