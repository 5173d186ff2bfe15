#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/queues/run_queue.h>
#include "turns.h"

namespace ergon::core::run_queue_test {
namespace {

using testing::kSanitized;

struct Item final : Schedulable {
  TurnEnd RunTurn() override { return TurnEnd::kIdle; }
  std::atomic<int> taken{0};
};

TEST_CASE("run queue: first in, first out, across the wrap") {
  RunQueue<4> queue;
  std::vector<Item> items(11);
  CHECK(queue.Empty());
  CHECK(queue.Pop() == nullptr);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    REQUIRE(queue.TryPush(items[i]));
    REQUIRE(queue.TryPush(items[i + 1]));
    CHECK_FALSE(queue.Empty());
    CHECK(queue.Pop() == &items[i]);
    CHECK(queue.Pop() == &items[i + 1]);
  }
  CHECK(queue.Empty());
}

TEST_CASE("run queue: refuses when full") {
  RunQueue<4> queue;
  std::vector<Item> items(5);
  for (std::size_t i = 0; i < 4; ++i) REQUIRE(queue.TryPush(items[i]));
  CHECK(queue.FreeForOwner() == 0);
  CHECK_FALSE(queue.TryPush(items[4]));
  CHECK(queue.Pop() == &items[0]);
  CHECK(queue.TryPush(items[4]));
}

TEST_CASE("run queue: a thief takes the older half, rounded up") {
  RunQueue<8> victim;
  RunQueue<8> thief;
  std::vector<Item> items(5);
  CHECK(victim.StealInto(thief) == nullptr);
  for (Item& item : items) REQUIRE(victim.TryPush(item));
  CHECK(victim.StealInto(thief) == &items[0]);
  CHECK(thief.Pop() == &items[1]);
  CHECK(thief.Pop() == &items[2]);
  CHECK(thief.Pop() == nullptr);
  CHECK(victim.Pop() == &items[3]);
  CHECK(victim.StealInto(thief) == &items[4]);
  CHECK(victim.Empty());
}

TEST_CASE("run queue: a thief takes no more than it has room for") {
  RunQueue<8> victim;
  RunQueue<2> thief;
  std::vector<Item> items(8);
  std::vector<Item> own(1);
  for (Item& item : items) REQUIRE(victim.TryPush(item));
  REQUIRE(thief.TryPush(own[0]));
  CHECK(victim.StealInto(thief) == &items[0]);
  CHECK(thief.Pop() == &own[0]);
  CHECK(thief.Pop() == &items[1]);
  CHECK(victim.Pop() == &items[2]);
}

TEST_CASE("run queue: owner against thieves, each entry once") {
  constexpr std::size_t kItems = kSanitized ? 20'000 : 400'000;
  RunQueue<8> queue;
  std::vector<Item> items(kItems);
  std::atomic<bool> done{false};
  std::atomic<std::size_t> taken{0};
  auto take = [&](Schedulable* entry) {
    if (entry == nullptr) return false;
    static_cast<Item*>(entry)->taken.fetch_add(1);
    taken.fetch_add(1);
    return true;
  };
  std::vector<std::thread> thieves;
  for (int t = 0; t < 2; ++t) {
    thieves.emplace_back([&] {
      RunQueue<8> own;
      while (!done.load()) {
        if (!take(queue.StealInto(own))) std::this_thread::yield();
        while (take(own.Pop())) {
        }
      }
    });
  }
  for (std::size_t i = 0; i < kItems; ++i) {
    while (!queue.TryPush(items[i])) take(queue.Pop());
    if (i % 3 == 0) take(queue.Pop());
  }
  while (take(queue.Pop())) {
  }
  CHECK(testing::Eventually([&] { return taken.load() == kItems; }));
  done = true;
  for (auto& thief : thieves) thief.join();
  std::size_t wrong = 0;
  for (Item& item : items) wrong += item.taken.load() != 1;
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace ergon::core::run_queue_test
