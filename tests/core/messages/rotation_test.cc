#include <ergon/core/messages/rotation.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "turns.h"

namespace ergon::core::rotation_test {
namespace {

using testing::kSanitized;
using Receivers = std::vector<std::uint64_t>;

Receivers Turns(Rotation& rotation, int count) {
  Receivers turns;
  for (int i = 0; i < count; ++i) turns.push_back(rotation.Next());
  return turns;
}

TEST_CASE("rotation: nobody") {
  Rotation rotation;
  CHECK(rotation.size() == 0);
  CHECK(rotation.Next() == 0);
  CHECK(rotation.InOrder().empty());
  CHECK_FALSE(rotation.Replace(1, 2));
}

TEST_CASE("rotation: first in, first out") {
  Rotation rotation;
  (void)rotation.Next();  // tickets of the time before do not shift the order
  rotation.Publish({11, 12, 13});
  CHECK(rotation.size() == 3);
  CHECK(rotation.InOrder() == Receivers{11, 12, 13});
  CHECK(Turns(rotation, 7) == Receivers{11, 12, 13, 11, 12, 13, 11});
  CHECK(rotation.InOrder() == Receivers{12, 13, 11});
}

TEST_CASE("rotation: publishing the order again changes nothing") {
  Rotation rotation;
  rotation.Publish({1, 2, 3});
  (void)Turns(rotation, 4);
  rotation.Publish(rotation.InOrder());
  CHECK(Turns(rotation, 4) == Receivers{2, 3, 1, 2});
}

TEST_CASE("rotation: growth appends, far beyond the first capacity") {
  Rotation rotation;
  Receivers expected;
  for (std::uint64_t i = 1; i <= 500; ++i) {
    Receivers order = rotation.InOrder();
    CHECK(order == expected);
    order.push_back(i);
    rotation.Publish(order);
    expected = order;
    CHECK(rotation.Next() == expected.front());
    std::rotate(expected.begin(), expected.begin() + 1, expected.end());
  }
  CHECK(rotation.size() == 500);
  CHECK(Turns(rotation, 500) == expected);
}

TEST_CASE("rotation: the place of a receiver is found, however many turns others have had since") {
  for (const int since : {0, 1, 3, 17}) {
    Rotation rotation;
    rotation.Publish({1, 2, 3, 4, 5});
    (void)Turns(rotation, 7);
    CHECK(rotation.Next() == 3);
    (void)Turns(rotation, since);
    std::uint64_t place = rotation.PlaceOf(3);
    Receivers others;
    for (int i = 0; i < 4; ++i) others.push_back(rotation.TakeAt(++place));
    CHECK(others == Receivers{4, 5, 1, 2});
  }
  Rotation alone;
  alone.Publish({9});
  CHECK(alone.Next() == 9);
  CHECK(alone.At(alone.PlaceOf(9)) == 9);
}

TEST_CASE("rotation: shrinking takes from the head") {
  Rotation rotation;
  rotation.Publish({1, 2, 3, 4, 5});
  (void)Turns(rotation, 2);
  Receivers order = rotation.InOrder();
  CHECK(order == Receivers{3, 4, 5, 1, 2});
  order.erase(order.begin(), order.begin() + 2);
  rotation.Publish(order);
  CHECK(Turns(rotation, 4) == Receivers{5, 1, 2, 5});
  rotation.Publish({});
  CHECK(rotation.Next() == 0);
  CHECK(rotation.InOrder().empty());
}

TEST_CASE("rotation: a replacement stands where its predecessor stood") {
  Rotation rotation;
  rotation.Publish({1, 2, 3});
  (void)rotation.Next();
  CHECK(rotation.Replace(3, 33));
  CHECK_FALSE(rotation.Replace(3, 34));
  CHECK(rotation.InOrder() == Receivers{2, 33, 1});
  CHECK(Turns(rotation, 3) == Receivers{2, 33, 1});
  rotation.Publish({1});
  CHECK_FALSE(rotation.Replace(2, 22));  // its entry may still be there, but it is not in the ring
}

TEST_CASE("rotation: counts what was taken, skipped and refused") {
  Rotation rotation;
  rotation.Publish({1, 2});
  (void)Turns(rotation, 5);
  CHECK(rotation.Given() == 5);
  rotation.Skipped();
  CHECK(rotation.Given() == 4);
  CHECK(rotation.RefusedCount() == 0);
  rotation.Refused();
  CHECK(rotation.RefusedCount() == 1);
}

TEST_CASE("rotation: reset for the next owner") {
  Rotation rotation;
  rotation.Publish({1, 2, 3});
  (void)Turns(rotation, 4);
  rotation.Skipped();
  rotation.Refused();
  rotation.Reset();
  CHECK(rotation.size() == 0);
  CHECK(rotation.Given() == 0);
  CHECK(rotation.RefusedCount() == 0);
  CHECK(rotation.InOrder().empty());
  rotation.Publish({7, 8});
  CHECK(Turns(rotation, 3) == Receivers{7, 8, 7});
}

TEST_CASE("rotation: several senders share the turns evenly") {
  constexpr int kThreads = 3;
  constexpr std::size_t kReceivers = 7;
  constexpr std::size_t kTurns = kReceivers * (kSanitized ? 3'000 : 100'000);
  Rotation rotation;
  Receivers receivers(kReceivers);
  std::iota(receivers.begin(), receivers.end(), 1);
  rotation.Publish(receivers);
  std::vector<std::atomic<std::size_t>> turns(kReceivers + 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < kTurns; ++i) {
        turns[rotation.Next()].fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(turns[0] == 0);
  for (std::size_t i = 1; i <= kReceivers; ++i) CHECK(turns[i] == kThreads * kTurns / kReceivers);
  CHECK(rotation.Given() == kThreads * kTurns);
}

TEST_CASE("rotation: turns while the owner grows, shrinks and replaces") {
  constexpr int kChanges = kSanitized ? 2'000 : 60'000;
  constexpr std::uint64_t kMost = 64;
  Rotation rotation;
  rotation.Publish({1});
  std::atomic<std::uint64_t> newest{1};  // receivers are numbered in the order of their birth
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> nobody{0};
  std::atomic<std::uint64_t> unborn{0};
  std::atomic<std::uint64_t> taken{0};
  std::vector<std::thread> senders;
  for (int t = 0; t < 2; ++t) {
    senders.emplace_back([&] {
      while (!done.load(std::memory_order_relaxed)) {
        const std::uint64_t receiver = rotation.Next();
        // Read afterwards: whoever had a turn had been born before.
        if (receiver == 0) nobody.fetch_add(1);
        if (receiver > newest.load(std::memory_order_relaxed)) unborn.fetch_add(1);
        taken.fetch_add(1);
      }
    });
  }
  std::uint64_t seed = 1;
  Receivers members{1};
  int wrong = 0;
  for (int i = 0; i < kChanges; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    Receivers order = rotation.InOrder();
    Receivers sorted = order;
    std::sort(sorted.begin(), sorted.end());
    wrong += sorted != members;
    const std::uint64_t choice = (seed >> 33) % 3;
    if (choice == 0 && order.size() < kMost) {
      members.push_back(newest.fetch_add(1) + 1);
      order.push_back(members.back());
      rotation.Publish(order);
    } else if (choice == 1 && order.size() > 1) {
      members.erase(std::find(members.begin(), members.end(), order.front()));
      order.erase(order.begin());
      rotation.Publish(order);
    } else {
      const std::uint64_t gone = order[(seed >> 40) % order.size()];
      members.erase(std::find(members.begin(), members.end(), gone));
      members.push_back(newest.fetch_add(1) + 1);
      wrong += !rotation.Replace(gone, members.back());
    }
  }
  CHECK(testing::Eventually([&] { return taken.load() > 0; }));
  done = true;
  for (std::thread& sender : senders) sender.join();
  CHECK(wrong == 0);
  CHECK(nobody == 0);  // it was never empty
  CHECK(unborn == 0);
  CHECK(rotation.Given() == taken);
}

TEST_CASE("rotation: turns at a position count as others do") {
  Rotation rotation;
  CHECK(rotation.At(0) == 0);
  CHECK(rotation.TakeAt(0) == 0);
  rotation.Skipped();
  rotation.Publish({11, 12, 13});
  CHECK(rotation.Turn() == 0);
  CHECK(rotation.At(4) == 12);
  CHECK(rotation.TakeAt(5) == 13);
  CHECK(rotation.Turn() == 1);
  rotation.Give();
  CHECK(rotation.Next() == 13);
  CHECK(rotation.Given() == 3);
}

}  // namespace
}  // namespace ergon::core::rotation_test
