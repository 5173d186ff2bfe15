#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/queues/injection_queue.h>
#include "turns.h"

namespace ergon::core::injection_queue_test {
namespace {

using testing::kSanitized;

struct Item final : Schedulable {
  TurnEnd RunTurn() override { return TurnEnd::kIdle; }
  std::atomic<int> taken{0};
  int producer = 0;
  int number = 0;
};

TEST_CASE("injection queue: first in, first out, single and in batches") {
  InjectionQueue queue;
  std::vector<Item> items(6);
  CHECK(queue.Empty());
  CHECK(queue.Pop() == nullptr);
  queue.Push(items[0]);
  Schedulable* batch[] = {&items[1], &items[2], &items[3]};
  queue.Push(batch, 3);
  queue.Push(batch, 0);
  queue.Push(items[4]);
  CHECK(queue.ApproxSize() == 5);
  CHECK(queue.Pop() == &items[0]);
  Schedulable* out[8];
  REQUIRE(queue.Pop(out, 2) == 2);
  CHECK(out[0] == &items[1]);
  CHECK(out[1] == &items[2]);
  REQUIRE(queue.Pop(out, 8) == 2);
  CHECK(out[0] == &items[3]);
  CHECK(out[1] == &items[4]);
  CHECK(queue.Empty());
  queue.Push(items[5]);
  CHECK(queue.Pop() == &items[5]);
}

TEST_CASE("injection queue: several producers and consumers, each once, a producer's in order") {
  constexpr int kProducers = 2;
  constexpr int kEach = kSanitized ? 5'000 : 100'000;
  InjectionQueue queue;
  std::vector<std::vector<Item>> items(kProducers);
  for (int p = 0; p < kProducers; ++p) {
    items[p] = std::vector<Item>(kEach);
    for (int i = 0; i < kEach; ++i) {
      items[p][i].producer = p;
      items[p][i].number = i;
    }
  }
  std::atomic<int> taken{0};
  std::atomic<int> disorder{0};
  std::vector<std::thread> threads;
  for (int p = 0; p < kProducers; ++p) {
    threads.emplace_back([&, p] {
      for (Item& item : items[p]) queue.Push(item);
    });
  }
  for (int c = 0; c < 2; ++c) {
    threads.emplace_back([&] {
      std::vector<int> last(kProducers, -1);
      while (taken.load() < kProducers * kEach) {
        auto* item = static_cast<Item*>(queue.Pop());
        if (item == nullptr) {
          std::this_thread::yield();
          continue;
        }
        disorder += item->number <= last[item->producer];
        last[item->producer] = item->number;
        item->taken.fetch_add(1);
        taken.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(disorder == 0);
  int wrong = 0;
  for (auto& of_one : items) {
    for (Item& item : of_one) wrong += item.taken.load() != 1;
  }
  CHECK(wrong == 0);
  CHECK(queue.Empty());
}

}  // namespace
}  // namespace ergon::core::injection_queue_test
