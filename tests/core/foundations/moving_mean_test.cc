#include <ergon/core/foundations/moving_mean.h>

#include <doctest/doctest.h>

namespace ergon::core::moving_mean_test {
namespace {

TEST_CASE("moving mean: begins with the first value, and comes close to what the last ones were") {
  std::int64_t mean = MovingMean(0, 1000);
  CHECK(mean == 1000);
  mean = MovingMean(mean, 1800);
  CHECK(mean == 1100);
  mean = MovingMean(mean, 300);
  CHECK(mean == 1000);
  for (int i = 0; i < 100; ++i) mean = MovingMean(mean, 5000);
  CHECK(mean > 4990);
  CHECK(mean <= 5000);
  for (int i = 0; i < 100; ++i) mean = MovingMean(mean, 10);
  CHECK(mean >= 10);
  CHECK(mean < 20);
}

}  // namespace
}  // namespace ergon::core::moving_mean_test
