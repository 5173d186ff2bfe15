#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/work_sharing.h>
#include "turns.h"

namespace ergon::core::work_sharing_test {
namespace {

using testing::Eventually;
using testing::kDeadlineNs;
using testing::Turn;

TEST_CASE("work sharing: one worker runs in the order of scheduling") {
  auto dispatcher = MakeWorkSharing({.workers = 1});
  std::vector<int> order;
  std::vector<std::unique_ptr<Turn>> turns;
  for (int i = 0; i < 5; ++i) {
    turns.push_back(std::make_unique<Turn>([&order, i] {
      order.push_back(i);
      // Each has a second turn, at the tail.
      return order.size() <= 5 ? TurnEnd::kYielded : TurnEnd::kCompleted;
    }));
    dispatcher->Schedule(*turns.back());
  }
  REQUIRE(dispatcher->Start(nullptr));
  CHECK(dispatcher->workers() == 1);
  CHECK(dispatcher->Stop() == "");
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
}

TEST_CASE("work sharing: a blocked worker holds up nothing but its own turn") {
  auto dispatcher = MakeWorkSharing({.workers = 2});
  REQUIRE(dispatcher->Start(nullptr));
  std::atomic<int> ran{0};
  Turn other([&] {
    ++ran;
    return TurnEnd::kCompleted;
  });
  Event done;
  bool all = false;
  Turn blocker([&] {
    dispatcher->Schedule(other);
    all = Eventually([&] { return ran.load() == 1; });
    done.Set();
    return TurnEnd::kCompleted;
  });
  dispatcher->Schedule(blocker);
  REQUIRE(done.WaitFor(2 * kDeadlineNs));
  CHECK(all);
}

}  // namespace
}  // namespace ergon::core::work_sharing_test
