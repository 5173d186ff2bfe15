#include <ergon/act/pool/autoscaler.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

namespace ergon::act::autoscaler_test {

using namespace std::chrono_literals;

constexpr PoolAutoscale kOptions{.min = 1, .max = 16, .target_wait = 20ms};

// A pool that the test describes, look by look: 100 ms for each.
struct Looks {
  explicit Looks(int workers, PoolAutoscale options = kOptions) : scaler(options) {
    measure.workers = workers;
    measure.handling = 10ms;
    measure.now = 1'000'000'000;
    Go(0);
  }
  // So many have come and were handled since the last one.
  int Go(std::uint64_t handled, int busy = 0, std::chrono::nanoseconds wait = 0ms) {
    measure.now += 100'000'000;
    measure.arrived += handled;
    measure.handled += handled;
    measure.busy = busy;
    measure.wait = wait;
    measure.waiting = wait > 0ms ? queue : 0;
    measure.workers = scaler.Look(measure);
    return measure.workers;
  }
  const PoolDecision& last() const { return scaler.decisions().front(); }

  PoolMeasure measure;
  std::uint64_t queue = 1;  // that waits, if any
  PoolAutoscaler scaler;
};

TEST_CASE("autoscaler: one look is not enough to grow, unless messages wait twice as long") {
  Looks looks(4);
  CHECK(looks.Go(40, 4, 30ms) == 4);
  CHECK(looks.Go(40, 4, 10ms) == 4);
  CHECK(looks.Go(40, 4, 30ms) == 4);
  CHECK(looks.Go(40, 4, 30ms) == 6);  // 4 are busy, 0.75 of their time; and one for what waits
  CHECK(looks.last().before == 4);
  CHECK(looks.last().ToString().find("4 -> 6 workers: messages wait longer than 20 ms (") == 0);
  Looks twice(4);
  CHECK(twice.Go(40, 4, 41ms) == 6);
}

TEST_CASE("autoscaler: at most twice as many at once, and never more than the most") {
  Looks looks(4);
  looks.queue = 1000;
  CHECK(looks.Go(1000, 4, 1s) == 8);
  Looks few(1);
  CHECK(few.Go(1000, 1, 1s) == 4);
  Looks most(16);
  for (int i = 0; i < 5; ++i) CHECK(most.Go(1000, 16, 1s) == 16);
  CHECK(most.scaler.decided() == 1);  // it says so once
  CHECK(most.last().ToString().find("stays at 16: autoscale.max allows no more (") == 0);
}

TEST_CASE("autoscaler: it shrinks to the most that was needed in the whole window") {
  Looks looks(16);
  int looked = 0;
  // By turns 3 and 5 are busy: 4 in the mean.
  while (looks.Go(40, 3 + 2 * (looked % 2)) == 16) REQUIRE(++looked < 300);
  CHECK(looked >= 100);                // 10 s
  CHECK(looks.measure.workers == 12);  // by a quarter
  CHECK(looks.last().reason.find("have been enough for 10 s") != std::string::npos);
  looked = 0;
  while (looks.Go(40, 3 + 2 * (looked % 2)) == 12) REQUIRE(++looked < 300);
  CHECK(looked >= 99);
  for (int i = 0; i < 1000; ++i) looks.Go(40, 3 + 2 * (i % 2));
  CHECK(looks.measure.workers == 6);
}

TEST_CASE("autoscaler: it does not shrink where so little is to be used that no number is enough") {
  PoolAutoscale options = kOptions;
  options.target_utilization = 1e-10;
  Looks looks(16, options);
  for (int i = 0; i < 300; ++i) CHECK(looks.Go(10, 1) == 16);
}

TEST_CASE("autoscaler: a shrink that has to be taken back doubles the time before the next one") {
  Looks looks(4);
  const auto shrink = [&] {
    int looked = 0;
    const int before = looks.measure.workers;
    while (looks.Go(5, 2) == before) REQUIRE(++looked < 5000);
    return looked;
  };
  shrink();
  CHECK(looks.measure.workers == 3);
  CHECK(looks.Go(5, 3, 1s) > 3);
  looks.Go(5, 2);
  looks.measure.workers = 4;
  looks.scaler.Resized();
  const int second = shrink();
  CHECK(second >= 199);
  CHECK(second < 220);
}

TEST_CASE("autoscaler: growth without more throughput is undone, and not tried again at once") {
  Looks looks(4);
  looks.queue = 1000;
  CHECK(looks.Go(40, 4, 1s) == 8);
  int most = 0;
  int looked = 0;
  // 40 in 100 ms, whatever it does.
  while (looks.scaler.decisions().front().reason != "throughput no longer rises with workers") {
    looks.Go(40, looks.measure.workers, 1s);
    most = std::max(most, looks.measure.workers);
    REQUIRE(++looked < 100);
  }
  CHECK(most == 16);  // with 4 it was not known yet what one does
  CHECK(looks.measure.workers == 8);
  for (int i = 0; i < 95; ++i) CHECK(looks.Go(40, 8, 1s) == 8);
  looked = 0;
  while (looks.Go(40, 8, 1s) == 8) REQUIRE(++looked < 10);
  CHECK(looks.measure.workers == 12);
  // What helps is kept.
  for (int i = 0; i < 6; ++i) looks.Go(60, looks.measure.workers, 1s);
  CHECK(looks.measure.workers == 16);
}

TEST_CASE("autoscaler: workers that cannot be started are asked for later") {
  Looks looks(4);
  CHECK(looks.Go(40, 4, 1s) > 4);
  looks.measure.workers = 4;
  looks.scaler.Failed("no licence");
  CHECK(looks.last().ToString().find("stays at 4: workers cannot be started: no licence (") == 0);
  CHECK(looks.scaler.decisions().size() == 1);  // the growth has not happened
  CHECK(looks.scaler.decided() == 1);
  for (int i = 0; i < 99; ++i) CHECK(looks.Go(40, 4, 1s) == 4);
  int looked = 0;
  while (looks.Go(40, 4, 1s) == 4) REQUIRE(++looked < 5);
}

TEST_CASE(
    "autoscaler: it looks every half handling time, slower at rest, and not with the fewest") {
  Looks looks(4);
  CHECK(looks.scaler.Period() >= 10ms);
  CHECK(looks.scaler.Period() < 11ms);
  looks.measure.handling = 300ms;
  looks.Go(1, 1);
  CHECK(looks.scaler.Period() == 150ms);
  looks.measure.handling = 1h;
  looks.Go(1, 1);
  CHECK(looks.scaler.Period() == 1s);
  looks.measure.handling = 10ms;
  for (int i = 0; i < 11; ++i) {
    CHECK_FALSE(looks.scaler.IsAtRest());
    looks.Go(0);
  }
  CHECK(looks.scaler.IsAtRest());
  CHECK(looks.scaler.Period() == 1s);
  while (looks.Go(0) != 1) REQUIRE(looks.scaler.decided() < 5);
  looks.Go(0);
  CHECK(looks.scaler.IsAtRest());
  CHECK(looks.scaler.Period() == 0ns);
  looks.scaler.Woken(looks.measure);
  CHECK_FALSE(looks.scaler.IsAtRest());
  CHECK(looks.scaler.Period() >= 10ms);
}

TEST_CASE("autoscaler: a few workers above many come down, and then it rests") {
  Looks looks(21, {.min = 20, .max = 40});
  int looked = 0;
  while (looks.Go(0) != 20) REQUIRE(++looked < 200);
  looks.Go(0);
  CHECK(looks.scaler.Period() == 0ns);
}

TEST_CASE("autoscaler: workers that hang after growth do not keep it from growing again") {
  Looks looks(4);
  looks.queue = 1000;
  CHECK(looks.Go(40, 4, 1s) == 8);
  int looked = 1;
  while (looks.Go(0, 8, 1s) == 8) REQUIRE(++looked < 200);
  CHECK(looked == 100);  // 10 s
  CHECK(looks.measure.workers == 16);
  REQUIRE(looks.scaler.decisions().size() == 3);
  CHECK(looks.scaler.decisions()[1].ToString().find(
            "stays at 8: what the last growth has brought is not known yet (") == 0);
}

TEST_CASE("autoscaler: growth is not judged while workers that leave have messages") {
  Looks looks(4);
  looks.queue = 1000;
  for (int i = 0; i < 20; ++i) looks.Go(40, looks.measure.workers, 15ms);
  REQUIRE(looks.measure.workers == 4);
  CHECK(looks.Go(40, 4, 1s) == 8);
  looks.measure.leaving = 1;
  for (int i = 0; i < 50; ++i) CHECK(looks.Go(40, 8, 1s) == 8);
  looks.measure.leaving = 0;
  int looked = 0;
  while (looks.Go(40, 8, 1s) == 8) REQUIRE(++looked < 50);
  CHECK(looks.last().reason == "throughput no longer rises with workers");
}

TEST_CASE("autoscaler: a number that others make smaller is not judged as growth") {
  Looks looks(8);
  looks.queue = 1000;
  for (int i = 0; i < 20; ++i) looks.Go(40, 8, 15ms);
  CHECK(looks.Go(40, 8, 1s) == 16);
  looks.scaler.SetOptions({.min = 1, .max = 6, .target_wait = 20ms});
  CHECK(looks.Go(40, 16, 1s) == 6);
  for (int i = 0; i < 50; ++i) CHECK(looks.Go(40, 6, 1s) == 6);
  CHECK(looks.last().reason == "autoscale.max allows no more");
}

TEST_CASE("autoscaler: the longest times") {
  const PoolAutoscale options{.min = 1, .max = 16, .target_wait = 1h, .shrink_after = 24h * 30};
  REQUIRE(options.Validate().empty());
  Looks looks(4, options);
  looks.queue = 1000;
  const auto wait = [&] { looks.measure.now += std::chrono::nanoseconds(24h * 31).count(); };
  looks.measure.handling = 1h;
  CHECK(looks.Go(10, 4, 2h) == 4);
  CHECK(looks.Go(10, 4, 3h) == 8);
  for (int i = 0; i < 200; ++i) {
    looks.Go(10, looks.measure.workers, 3h);
    wait();
  }
  CHECK(looks.measure.workers == 16);
  for (int i = 0; i < 2000; ++i) {
    looks.Go(0);
    wait();
  }
  CHECK(looks.measure.workers == 1);
}

TEST_CASE("autoscaler: it remembers the last twenty decisions, the newest first") {
  Looks looks(1);
  for (int i = 0; i < 8000; ++i) looks.Go(10, i % 300 == 0 ? 4 : 0, i % 300 == 0 ? 1s : 0s);
  CHECK(looks.scaler.decided() > 20);
  const auto& decisions = looks.scaler.decisions();
  REQUIRE(decisions.size() == 20);
  CHECK(decisions.front().at > decisions.back().at);
}

}  // namespace ergon::act::autoscaler_test
