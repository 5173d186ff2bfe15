#include <ergon/core/foundations/striped_histogram.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using ergon::core::StripedHistogram;
using ergon::core::ThreadStripe;
using Counts = std::vector<std::uint64_t>;

TEST_CASE("striped histogram: a bound belongs to its bucket") {
  StripedHistogram histogram(-1, 2);  // 0.5, 1, 2, 4 and more
  CHECK(histogram.Read().counts == Counts{0, 0, 0, 0, 0});
  for (const double value : {0.0, 0.5, 0.51, 1.0, 1.01, 2.0, 3.0, 4.0, 4.01, 1e300}) {
    histogram.Add(value);
  }
  CHECK(histogram.Read().counts == Counts{2, 2, 2, 2, 2});
}

TEST_CASE("striped histogram: one bound, and the outermost ones") {
  StripedHistogram one(0, 0);
  one.Add(1);
  one.Add(2);
  CHECK(one.Read().counts == Counts{1, 1});
  CHECK(one.Read().sum == 3);
  StripedHistogram wide(-40, 60);
  for (int i = -40; i <= 60; ++i) wide.Add(std::ldexp(1.0, i));
  Counts each(101, 1);
  each.push_back(0);
  CHECK(wide.Read().counts == each);
}

TEST_CASE("striped histogram: what is below 0, infinite or no number counts as 0") {
  StripedHistogram histogram(0, 1);
  histogram.Add(-3);
  histogram.Add(std::numeric_limits<double>::quiet_NaN());
  histogram.Add(std::numeric_limits<double>::infinity());
  histogram.Add(-std::numeric_limits<double>::infinity());
  CHECK(histogram.Read().counts == Counts{4, 0, 0});
  CHECK(histogram.Read().sum == 0);
  histogram.Add(std::numeric_limits<double>::max());
  CHECK(histogram.Read().counts == Counts{4, 0, 1});
}

TEST_CASE("striped histogram: more threads than stripes lose nothing") {
  constexpr std::size_t kThreads = 2 * ThreadStripe::kCount + 1;
  constexpr std::uint64_t kEach = 1'000;
  StripedHistogram histogram(0, 20);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t j = 0; j < kEach; ++j) histogram.Add(static_cast<double>(j));
      });
    }
  }
  const auto view = histogram.Read();
  CHECK(std::accumulate(view.counts.begin(), view.counts.end(), std::uint64_t{0}) ==
        kThreads * kEach);
  CHECK(view.sum == kThreads * kEach * (kEach - 1) / 2.0);
}
