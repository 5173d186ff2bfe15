#include <ergon/node/turn_budget.h>

#include <doctest/doctest.h>

namespace ergon::node {
namespace {

// Messages until the turn has to end, at most `most`.
int Messages(TurnBudget budget, int most) {
  int messages = 1;
  while (budget.Spend() && messages < most) ++messages;
  return messages;
}

TEST_CASE("turn budget: without a time it is the throughput, exactly") {
  for (const int throughput : {1, 2, 3, 31, 32, 4096}) {
    CAPTURE(throughput);
    CHECK(Messages({throughput, 0}, 10'000) == throughput);
  }
}

TEST_CASE("turn budget: slow messages end the turn at the throughput") {
  // Reading the clock takes longer than a nanosecond.
  for (const int throughput : {1, 2, 3, 31, 32, 4096}) {
    CAPTURE(throughput);
    CHECK(Messages({throughput, 1}, 10'000) == throughput);
  }
}

TEST_CASE("turn budget: quick messages go on until the time is over") {
  CHECK(Messages({32, 1'000'000'000}, 10'000) == 10'000);
  CHECK(Messages({1, 1'000'000'000}, 10'000) == 1);  // one is one
  TurnBudget budget(32, 1'000'000);
  const std::int64_t start = core::SteadyClock().Now();
  while (budget.Spend()) {
  }
  CHECK(core::SteadyClock().Now() - start >= 900'000);
}

}  // namespace
}  // namespace ergon::node
