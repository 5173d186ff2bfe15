// Who waits for room on the way to another node, and who does not any more.
#include <ergon/node/cluster/connection/room_waiters.h>

#include <cstdint>

#include <doctest/doctest.h>

namespace ergon::dist::room_waiters_test {
namespace {

TEST_CASE("room waiters: all that wait still are there, in their order") {
  RoomWaiters waiters;
  const auto is_even = [](const RoomWaiter& waiter) { return waiter.id % 2 == 0; };
  constexpr std::uint64_t kAdded = 1000;
  for (std::uint64_t id = 0; id < kAdded; ++id) waiters.Add({.local = {}, .id = id}, is_even);
  std::uint64_t next = 0;
  for (const RoomWaiter& waiter : waiters.TakeAll()) {
    if (!is_even(waiter)) continue;
    CHECK(waiter.id == next);
    next += 2;
  }
  CHECK(next == kAdded);
  CHECK(waiters.size() == 0);
}

TEST_CASE("room waiters: those that have stopped waiting take a bounded place, and few questions") {
  RoomWaiters waiters;
  constexpr std::uint64_t kAdded = 100'000;
  constexpr std::uint64_t kWaiting = 200;
  std::uint64_t asked = 0;
  const auto waits = [&](const RoomWaiter& waiter) {
    ++asked;
    return waiter.id < kWaiting;
  };
  for (std::uint64_t id = 0; id < kAdded; ++id) {
    waiters.Add({.local = {}, .id = id}, waits);
    REQUIRE(waiters.size() <= 2 * kWaiting + 1);
  }
  CHECK(asked < 4 * kAdded);
}

}  // namespace
}  // namespace ergon::dist::room_waiters_test
