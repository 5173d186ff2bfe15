#include <doctest/doctest.h>

#include <ergon/core/queues/seen_turn.h>

namespace ergon::core::seen_turn_test {

TEST_CASE("seen turn: counts from the first look at a turn") {
  SeenTurn seen;
  CHECK(seen.Look(7, 1'000) == 0);
  CHECK(seen.Look(7, 1'400) == 400);
  CHECK(seen.Look(7, 3'000) == 2'000);
  CHECK(seen.Look(8, 3'100) == 0);
  CHECK(seen.Look(8, 3'150) == 50);
  CHECK(seen.Look(20, 9'000) == 0);
  CHECK(seen.Look(20, 9'001) == 1);
}

}  // namespace ergon::core::seen_turn_test
