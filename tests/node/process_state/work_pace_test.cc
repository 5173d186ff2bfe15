#include <doctest/doctest.h>

#include <ergon/core/clock.h>
#include <ergon/node/process_state/work_pace.h>

namespace ergon::node {
namespace {

TEST_CASE("work pace: only what lies between two messages counts, not the time without work") {
  core::ManualClock clock;
  WorkPace pace;
  const auto look = [&](std::int64_t after, std::uint64_t handled, bool goes_idle) {
    clock.AdvanceBy(after);
    pace.Look(clock, handled, goes_idle);
  };
  look(1'000, 1, true);  // nothing is known of the time before
  CHECK(pace.Mean() == 0);
  look(1'000'000, 11, false);  // nor of this: it was idle
  CHECK(pace.Mean() == 0);
  look(50, 11, false);  // a handler waits
  CHECK(pace.Mean() == 0);
  look(150, 21, false);
  CHECK(pace.Mean() == 20);
  look(200, 31, true);
  CHECK(pace.Mean() == 20);
  look(1'000'000'000, 32, true);
  look(1'000'000'000, 33, false);
  CHECK(pace.Mean() == 20);
  pace.Reset();
  CHECK(pace.Mean() == 0);
}

TEST_CASE("work pace: it follows, and what was long ago counts nothing") {
  core::ManualClock clock;
  WorkPace pace;
  std::uint64_t handled = 0;
  const auto run = [&](int looks, std::int64_t each) {
    for (int i = 0; i < looks; ++i) {
      clock.AdvanceBy(each);
      pace.Look(clock, ++handled, false);
    }
  };
  run(100, 1'000'000);
  CHECK(pace.Mean() > 990'000);
  CHECK(pace.Mean() < 1'010'000);
  run(32, 1'000);
  CHECK(pace.Mean() > 1'000);
  CHECK(pace.Mean() < 200'000);
  run(300, 1'000);
  CHECK(pace.Mean() < 1'010);
}

}  // namespace
}  // namespace ergon::node
