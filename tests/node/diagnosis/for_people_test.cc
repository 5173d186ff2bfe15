// Times as people read them.
#include <ergon/node/diagnosis/for_people.h>

#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

namespace ergon::node::for_people_test {

constexpr std::int64_t kMillisecond = 1'000'000;

TEST_CASE("for people: what has begun after the clock was read has lasted no time") {
  CHECK(HandlingTime(1'000, 1'250 * kMillisecond) == 250 * kMillisecond);
  CHECK(HandlingTime(1'000, 1'000 * kMillisecond) == 0);
  CHECK(HandlingTime(1'000, 999 * kMillisecond) == 0);
  CHECK(ForPeople(HandlingTime(1'000, 999 * kMillisecond)) == "0 ms");
}

TEST_CASE("for people: the milliseconds begin anew every 49 days") {
  constexpr std::uint32_t kLast = std::numeric_limits<std::uint32_t>::max();
  constexpr std::int64_t kRound = (std::int64_t{1} << 32) * kMillisecond;
  CHECK(HandlingTime(kLast, kRound + 4 * kMillisecond) == 5 * kMillisecond);
  CHECK(HandlingTime(4, kRound - kMillisecond) == 0);
}

}  // namespace ergon::node::for_people_test
