// Lines of a log that others cause.
#include <string>

#include <doctest/doctest.h>

#include <ergon/gen/log_limit.h>

namespace ergon::gen {

TEST_CASE("log limit: some lines in each period, and how many were left out") {
  LogLimit limit;
  LogLimit::Time now{std::chrono::hours(5)};
  const auto burst = [&](int lines) {
    int written = 0;
    for (int i = 0; i < lines; ++i) written += limit.Take(now) ? 1 : 0;
    return written;
  };
  CHECK(limit.Take(now) == std::string());
  CHECK(burst(100) == LogLimit::kLines - 1);
  now += LogLimit::kPeriod - std::chrono::nanoseconds(1);
  CHECK_FALSE(limit.Take(now));
  CHECK(limit.LeftOut() == 92);
  now += std::chrono::nanoseconds(1);
  CHECK(limit.Take(now) == std::string(" (92 lines like this were left out before)"));
  CHECK(limit.LeftOut() == 0);
  CHECK(limit.Take(now) == std::string());
  // A line now and then is always written.
  for (int i = 0; i < 100; ++i) {
    now += std::chrono::seconds(2);
    CHECK(limit.Take(now) == std::string());
  }
  now += LogLimit::kPeriod;
  CHECK(burst(LogLimit::kLines + 1) == LogLimit::kLines);
  now += LogLimit::kPeriod;
  CHECK(limit.Take(now) == std::string(" (1 line like this was left out before)"));
}

}  // namespace ergon::gen
