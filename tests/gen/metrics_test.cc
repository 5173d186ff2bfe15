#include <ergon/gen/metrics.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include <doctest/doctest.h>

#include <ergon/core/foundations/striped_counter.h>
#include <ergon/core/foundations/striped_histogram.h>

namespace ergon::gen::metrics_test {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

TEST_CASE("metrics: handles that were made by no node count nothing") {
  Counter counter;
  counter.Add();
  CHECK(counter.Value() == 0);
  Gauge gauge;
  gauge.Set(1);
  gauge.Add(1);
  CHECK(gauge.Value() == 0);
  Histogram histogram;
  histogram.Observe(1);
  CHECK(histogram.View().buckets.empty());
  CHECK(histogram.View().count == 0);
}

TEST_CASE("metrics: copies count the same") {
  Counter counter(std::make_shared<core::StripedCounter>());
  Counter copy = counter;
  counter.Add();
  copy.Add(41);
  CHECK(counter.Value() == 42);
  Gauge gauge(std::make_shared<std::atomic<double>>(0.0));
  Gauge other = gauge;
  gauge.Set(2.5);
  other.Add(-1);
  CHECK(gauge.Value() == 1.5);
}

TEST_CASE("metrics: a counter never goes down") {
  Counter counter(std::make_shared<core::StripedCounter>());
  counter.Add(5);
  counter.Add(-1);
  counter.Add(std::numeric_limits<std::int64_t>::min());
  CHECK(counter.Value() == 5);
  counter.Add(std::numeric_limits<std::int64_t>::max());
  CHECK(counter.Value() == std::numeric_limits<std::int64_t>::max() + std::uint64_t{5});
}

TEST_CASE("metrics: what is infinite counts as 0, and the sum goes on") {
  Histogram histogram(std::make_shared<core::StripedHistogram>(-1, 1));
  histogram.Observe(std::numeric_limits<double>::infinity());
  histogram.Observe(1);
  const HistogramView view = histogram.View();
  CHECK(view.buckets.front().count == 1);
  CHECK(view.count == 2);
  CHECK(view.sum == 1);
}

TEST_CASE("metrics: the buckets of a histogram add up") {
  Histogram histogram(std::make_shared<core::StripedHistogram>(-1, 1));
  histogram.Observe(0.25);
  histogram.Observe(1);
  histogram.Observe(2s);
  histogram.Observe(1'500ms);
  histogram.Observe(100);
  const HistogramView view = histogram.View();
  REQUIRE(view.buckets.size() == 4);
  CHECK(view.buckets[0].bound == 0.5);
  CHECK(view.buckets[0].count == 1);
  CHECK(view.buckets[1].bound == 1);
  CHECK(view.buckets[1].count == 2);
  CHECK(view.buckets[2].bound == 2);
  CHECK(view.buckets[2].count == 4);
  CHECK(std::isinf(view.buckets[3].bound));
  CHECK(view.buckets[3].count == 5);
  CHECK(view.count == 5);
  CHECK(view.sum == 104.75);
}

}  // namespace ergon::gen::metrics_test
