#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/queues/local_queue.h>
#include "turns.h"

namespace ergon::core::local_queue_test {
namespace {

using testing::kSanitized;

struct Item final : Schedulable {
  TurnEnd RunTurn() override { return TurnEnd::kIdle; }
  std::atomic<int> taken{0};
};

TEST_CASE("local queue: first in, first out, far beyond the ring") {
  LocalQueue<4> queue;
  std::vector<Item> items(100);
  std::size_t next = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    queue.Push(items[i]);
    if (i % 3 == 0) CHECK(queue.Pop() == &items[next++]);
  }
  while (next < items.size()) CHECK(queue.Pop() == &items[next++]);
  CHECK(queue.Pop() == nullptr);
  CHECK(queue.Empty());
}

TEST_CASE("local queue: thieves get at the overflow") {
  LocalQueue<4> queue;
  LocalQueue<4> thief;
  std::vector<Item> items(50);
  for (Item& item : items) queue.Push(item);
  std::size_t stolen = 0;
  while (queue.StealInto(thief) != nullptr) {
    ++stolen;
    while (thief.Pop() != nullptr) ++stolen;
  }
  CHECK(stolen == items.size());
  CHECK(queue.Empty());
}

TEST_CASE("local queue: owner against a thief, each entry once") {
  constexpr std::size_t kItems = kSanitized ? 20'000 : 300'000;
  LocalQueue<4> queue;
  std::vector<Item> items(kItems);
  std::atomic<bool> done{false};
  std::atomic<std::size_t> taken{0};
  auto take = [&](Schedulable* entry) {
    if (entry == nullptr) return false;
    static_cast<Item*>(entry)->taken.fetch_add(1);
    taken.fetch_add(1);
    return true;
  };
  std::thread thief([&] {
    LocalQueue<4> own;
    while (!done.load()) {
      if (!take(queue.StealInto(own))) std::this_thread::yield();
      while (take(own.Pop())) {
      }
    }
  });
  for (std::size_t i = 0; i < kItems; ++i) {
    queue.Push(items[i]);
    if (i % 2 == 0) take(queue.Pop());
  }
  while (take(queue.Pop())) {
  }
  CHECK(testing::Eventually([&] { return taken.load() == kItems; }));
  done = true;
  thief.join();
  std::size_t wrong = 0;
  for (Item& item : items) wrong += item.taken.load() != 1;
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace ergon::core::local_queue_test
