#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/foundations/sanitizers.h>
#include <ergon/core/queues/overflow_queue.h>
#include "turns.h"

namespace ergon::core {
namespace {

#if !ERGON_ASAN && !ERGON_TSAN
constinit thread_local bool is_without_memory = false;
#endif

}  // namespace
}  // namespace ergon::core

// The sanitizers have operators of their own, and must keep them.
#if !ERGON_ASAN && !ERGON_TSAN
#define ERGON_OVERFLOW_WITHOUT_MEMORY 1
void* operator new(std::size_t bytes) {
  if (ergon::core::is_without_memory) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace ergon::core {
namespace {

using testing::kSanitized;

struct OverflowItem final : Schedulable {
  TurnEnd RunTurn() override { return TurnEnd::kIdle; }
  std::atomic<int> taken{0};
  std::size_t number = 0;
};

std::vector<OverflowItem> MakeItems(std::size_t count) {
  std::vector<OverflowItem> items(count);
  for (std::size_t i = 0; i < count; ++i) items[i].number = i;
  return items;
}

// Takes up to `max` entries, which must be those from `next` on. Returns how many there were.
std::size_t TakeInOrder(OverflowQueue& queue, std::vector<OverflowItem>& items, std::size_t next,
                        std::size_t max) {
  std::vector<Schedulable*> batch(max);
  const std::size_t count = queue.Pop(batch.data(), max);
  for (std::size_t i = 0; i < count; ++i) CHECK(batch[i] == &items[next + i]);
  return count;
}

TEST_CASE("overflow queue: first in, first out, over many blocks, whatever is taken at a time") {
  constexpr std::size_t kItems = 5 * OverflowQueue::kBlockHolds + 7;
  for (const std::size_t max : {std::size_t{1}, std::size_t{3}, OverflowQueue::kBlockHolds,
                                2 * OverflowQueue::kBlockHolds}) {
    CAPTURE(max);
    OverflowQueue queue;
    auto items = MakeItems(kItems);
    CHECK(queue.Empty());
    CHECK(TakeInOrder(queue, items, 0, max) == 0);
    std::size_t next = 0;
    for (std::size_t i = 0; i < kItems; ++i) {
      queue.Push(items[i]);
      if (i % 5 == 0) next += TakeInOrder(queue, items, next, max);
      CHECK(queue.ApproxSize() == i + 1 - next);
    }
    while (const std::size_t count = TakeInOrder(queue, items, next, max)) next += count;
    CHECK(next == kItems);
    CHECK(queue.Empty());
  }
}

TEST_CASE("overflow queue: what is left in it may be more than a block when it goes") {
  auto items = MakeItems(3 * OverflowQueue::kBlockHolds);
  OverflowQueue queue;
  for (auto& item : items) queue.Push(item);
  CHECK(TakeInOrder(queue, items, 0, 10) == 10);
}

#ifdef ERGON_OVERFLOW_WITHOUT_MEMORY
TEST_CASE("overflow queue: without memory nothing is lost, and the order is the same") {
  constexpr std::size_t kItems = 4 * OverflowQueue::kBlockHolds;
  OverflowQueue queue;
  auto items = MakeItems(kItems);
  std::size_t next = 0;
  for (std::size_t i = 0; i < kItems; ++i) {
    // There is none when the second block is wanted. What comes later waits behind those that have none.
    is_without_memory = i >= OverflowQueue::kBlockHolds && i < 3 * OverflowQueue::kBlockHolds;
    queue.Push(items[i]);
    if (is_without_memory && i == OverflowQueue::kBlockHolds) {
      CHECK_FALSE(std::unique_ptr<int>(new (std::nothrow) int));
    }
    is_without_memory = false;
  }
  CHECK(queue.ApproxSize() == kItems);
  while (const std::size_t count = TakeInOrder(queue, items, next, 100)) next += count;
  CHECK(next == kItems);
  CHECK(queue.Empty());
}
#endif

TEST_CASE("overflow queue: several threads push and take, each entry once, in order for each") {
  constexpr std::size_t kEach = kSanitized ? 5'000 : 100'000;
  OverflowQueue queue;
  std::vector<std::vector<OverflowItem>> items;
  for (int i = 0; i < 2; ++i) items.push_back(MakeItems(kEach));
  std::atomic<std::size_t> taken{0};
  std::atomic<std::size_t> disorder{0};
  {
    std::vector<std::jthread> threads;
    for (auto& own : items) {
      threads.emplace_back([&] {
        for (auto& item : own) queue.Push(item);
      });
      threads.emplace_back([&] {
        std::vector<std::size_t> least(items.size(), 0);
        std::vector<Schedulable*> batch(64);
        while (taken.load() < 2 * kEach) {
          const std::size_t count = queue.Pop(batch.data(), batch.size());
          for (std::size_t i = 0; i < count; ++i) {
            auto& item = *static_cast<OverflowItem*>(batch[i]);
            const bool is_first = &item >= items[0].data() && &item < items[0].data() + kEach;
            std::size_t& bound = least[is_first ? 0 : 1];
            if (item.number < bound) disorder.fetch_add(1);
            bound = item.number;
            item.taken.fetch_add(1);
          }
          taken.fetch_add(count);
        }
      });
    }
  }
  CHECK(disorder == 0);
  std::size_t wrong = 0;
  for (auto& own : items) {
    for (auto& item : own) wrong += item.taken.load() != 1;
  }
  CHECK(wrong == 0);
  CHECK(queue.Empty());
}

}  // namespace
}  // namespace ergon::core
