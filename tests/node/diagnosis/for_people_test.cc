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
  constexpr std::int64_t kThirtyDays = std::int64_t{30} * 24 * 3600 * 1000 * kMillisecond;
  CHECK(HandlingTime(1'000, 1'000 * kMillisecond + kThirtyDays) == kThirtyDays);
}

TEST_CASE("for people: less than a millisecond is something") {
  CHECK(ForPeople(0) == "0 ms");
  CHECK(ForPeople(-1) == "0 ms");
  CHECK(ForPeople(30'000) == "30 us");
  CHECK(ForPeople(kMillisecond) == "1 ms");
  CHECK(ForPeople(4'990 * kMillisecond) == "4.9 s");
}

}  // namespace ergon::node::for_people_test
