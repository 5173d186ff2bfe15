#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/foundations/sync.h>
#include "turns.h"

namespace ergon::core::sync_test {
namespace {

using testing::kDeadlineNs;
using testing::kSanitized;

TEST_CASE("spin lock: excludes") {
  SpinLock lock;
  std::int64_t counter = 0;
  constexpr int kRounds = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        std::lock_guard guard(lock);
        ++counter;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(counter == 4 * kRounds);
  CHECK(lock.try_lock());
  CHECK_FALSE(lock.try_lock());
}

TEST_CASE("futex: returns at once when the word differs, and on time-out") {
  std::atomic<std::uint32_t> word{1};
  CHECK(FutexWait(word, 0));
  CHECK_FALSE(FutexWait(word, 1, 1'000));
  CHECK_FALSE(FutexWait(word, 1, -5));
}

TEST_CASE("event: set before the wait") {
  Event event;
  CHECK_FALSE(event.IsSet());
  CHECK_FALSE(event.WaitFor(0));
  CHECK_FALSE(event.WaitFor(1'000));
  event.Set();
  CHECK(event.IsSet());
  event.Wait();
  CHECK(event.WaitFor(0));
  event.Set();
  CHECK(event.IsSet());
}

TEST_CASE("event: many waiters, and what was written before is seen") {
  for (int round = 0; round < 50; ++round) {
    Event event;
    int value = 0;
    std::atomic<int> seen{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        if (t % 2 == 0) {
          event.Wait();
        } else if (!event.WaitFor(kDeadlineNs)) {
          return;
        }
        seen += value;
      });
    }
    value = 1;
    event.Set();
    for (auto& thread : threads) thread.join();
    CHECK(seen == 4);
  }
}

TEST_CASE("event: huge time-outs do not overflow") {
  Event event;
  std::thread setter([&] { event.Set(); });
  CHECK(event.WaitFor(INT64_MAX));
  setter.join();
}

TEST_CASE("event: the waiter may destroy it at once") {
  constexpr int kRounds = kSanitized ? 3'000 : 30'000;
  std::atomic<Event*> current{nullptr};
  std::thread setter([&] {
    for (int i = 0; i < kRounds; ++i) {
      Event* event;
      while ((event = current.exchange(nullptr)) == nullptr) std::this_thread::yield();
      event->Set();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    auto event = std::make_unique<Event>();
    current = event.get();
    if (i % 2 == 0) {
      event->Wait();
    } else {
      REQUIRE(event->WaitFor(kDeadlineNs));
    }
  }
  setter.join();
}

}  // namespace
}  // namespace ergon::core::sync_test
