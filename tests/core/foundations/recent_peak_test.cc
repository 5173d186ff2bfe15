#include <ergon/core/foundations/recent_peak.h>

#include <doctest/doctest.h>

namespace ergon::core::recent_peak_test {
namespace {

constexpr std::int64_t kPeriod = RecentPeak::kPeriod;
constexpr std::int64_t kStart = 1000 * kPeriod;

TEST_CASE("recent peak: the largest of a period") {
  RecentPeak peak;
  CHECK(peak.Get(kStart) == 0);
  peak.Note(3, kStart);
  peak.Note(7, kStart + 1);
  peak.Note(2, kStart + 2);
  CHECK(peak.Get(kStart + 3) == 7);
  CHECK(peak.Get(kStart + kPeriod - 1) == 7);
}

TEST_CASE("recent peak: it counts for one more period, and no longer") {
  RecentPeak peak;
  peak.Note(7, kStart);
  peak.Note(2, kStart + 1);
  CHECK(peak.Get(kStart + kPeriod) == 7);
  CHECK(peak.Get(kStart + 2 * kPeriod - 1) == 7);
  CHECK(peak.Get(kStart + 2 * kPeriod) == 2);
}

TEST_CASE("recent peak: what stays as it is counts in every period") {
  RecentPeak peak;
  peak.Note(5, kStart);
  CHECK(peak.Get(kStart + 10 * kPeriod) == 5);
  peak.Note(1, kStart + 10 * kPeriod + 1);
  CHECK(peak.Get(kStart + 11 * kPeriod) == 5);
  CHECK(peak.Get(kStart + 12 * kPeriod) == 1);
}

TEST_CASE("recent peak: after a long time without a look, what was before does not count") {
  RecentPeak peak;
  peak.Note(9, kStart);
  peak.Note(4, kStart + 1);
  CHECK(peak.Get(kStart + 5 * kPeriod) == 4);
}

}  // namespace
}  // namespace ergon::core::recent_peak_test
