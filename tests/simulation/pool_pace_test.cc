// What a pool says of its waiting time, after hours without work and after jobs of another length.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/act/pool_stats.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::pool_pace_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Errand {
  std::chrono::nanoseconds takes{0};
  int key = 0;
  std::function<void()> begun = nullptr;
};

class Runner : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.As<Errand>()->begun) message.As<Errand>()->begun();
    if (message.As<Errand>()->takes > 0ns) (void)Sleep(message.As<Errand>()->takes);
    return gen::Continue();
  }
};

class PacedPool : public act::Pool {
 public:
  PacedPool(act::PoolStrategy strategy, int size, std::chrono::nanoseconds limit = 0ns)
      : strategy_(std::move(strategy)), size_(size), limit_(limit) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = size_,
                            .worker_factory = gen::Factory<Runner>(),
                            .strategy = strategy_,
                            .admission_limit = limit_};
  }
  const act::PoolStrategy strategy_;
  const int size_;
  const std::chrono::nanoseconds limit_;
};

TEST_CASE("pool pace: the estimate of the waiting time is right after any time without work") {
  Simulation::ForSeeds(1, 40, [](Simulation& sim) {
    gen::Node& node = sim.Node("pace@sim");
    const act::PoolStrategy strategies[] = {
        act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded(),
        act::PoolStrategy::SharedQueue(),
        act::PoolStrategy::ByKey<Errand>([](const Errand& errand) { return errand.key; })};
    const auto& strategy = strategies[sim.Random(0, 3)];
    const int size = static_cast<int>(sim.Random(1, 4));
    CAPTURE(std::string(strategy.ToString()));
    const gen::PID pool = node.Spawn(gen::Factory<PacedPool>(strategy, size)).value();
    // The first one is learnt from nothing; the others after something else, long ago.
    for (const auto takes : {10ms, 100ms, 3ms}) {
      const auto burst = [&](int count) {
        for (int i = 0; i < count; ++i) REQUIRE(node.Send(pool, Errand{takes, i}));
      };
      burst(100 * size);
      sim.RunUntilIdle();
      sim.RunFor(sim.Random(1s, 3h));
      burst(40 * size);
      sim.RunFor(5 * takes + takes / 2);
      const act::PoolStats stats = act::Stats(node, pool).value();
      const double real = static_cast<double>(stats.queued) *
                          static_cast<double>(std::chrono::microseconds(takes).count()) / size;
      const double estimate = static_cast<double>(stats.queue_wait_estimate.count());
      CAPTURE(stats.queued);
      CAPTURE(real);
      CAPTURE(estimate);
      CHECK(estimate > 0.8 * real);
      CHECK(estimate < 1.25 * real);
      sim.RunUntilIdle();
      sim.RunFor(sim.Random(1s, 3h));
    }
    CHECK(act::Stats(node, pool).value().queue_wait_estimate == 0us);
  });
}

// How far the estimate is from what a message that is sent then has to wait, over many of them.
class Errors {
 public:
  // Runs until the message has begun.
  void Probe(Simulation& sim, gen::PID pool, Errand errand) {
    gen::Node& node = sim.Node("pace@sim");
    const auto estimate = act::Stats(node, pool).value().queue_wait_estimate;
    const auto sent = sim.Now();
    bool has_begun = false;
    errand.begun = [&] {
      has_begun = true;
      const double real = std::chrono::duration<double, std::micro>(sim.Now() - sent).count();
      relative_.push_back(std::abs(static_cast<double>(estimate.count()) - real) / real);
      absolute_.push_back(std::abs(static_cast<double>(estimate.count()) - real));
    };
    REQUIRE(node.Send(pool, errand));
    REQUIRE(sim.RunUntil([&] { return has_begun; }));
  }
  // Of nine in ten of them the error is at most that: a part of the wait.
  [[nodiscard]] double NineInTen() { return NineInTen(relative_); }
  // The same in microseconds.
  [[nodiscard]] double NineInTenMicroseconds() { return NineInTen(absolute_); }

 private:
  static double NineInTen(std::vector<double>& errors) {
    REQUIRE(errors.size() >= 20);
    std::sort(errors.begin(), errors.end());
    return errors[errors.size() * 9 / 10];
  }
  std::vector<double> relative_;
  std::vector<double> absolute_;
};

// Loads `count` jobs of that length for each worker, sees to it that each worker has handled some, and asks.
template <class Takes>
void ProbeBursts(Simulation& sim, const act::PoolStrategy& strategy, int count, Errors& errors,
                 Takes takes) {
  gen::Node& node = sim.Node("pace@sim");
  constexpr int kSize = 4;
  const gen::PID pool = node.Spawn(gen::Factory<PacedPool>(strategy, kSize)).value();
  for (int burst = 0; burst < 5; ++burst) {
    for (int i = 0; i < count * kSize; ++i) REQUIRE(node.Send(pool, Errand{takes(), i}));
    sim.RunFor(sim.Random(50ms, 100ms));
    errors.Probe(sim, pool, {.takes = takes(), .key = burst});
    sim.RunUntilIdle();
    sim.RunFor(sim.Random(1s, 1h));
  }
}

TEST_CASE("pool pace: the error of the estimate, load by load") {
  const act::PoolStrategy rotation = act::PoolStrategy::Rotation();
  const act::PoolStrategy shared = act::PoolStrategy::SharedQueue();
  Errors same, mixed, mixed_shared, steady;
  Simulation::ForSeeds(1, 20, [&](Simulation& sim) {
    ProbeBursts(sim, rotation, 100, same, [] { return 5ms; });
    const auto any = [&]() -> std::chrono::nanoseconds { return sim.Chance(0.1) ? 50ms : 1ms; };
    ProbeBursts(sim, rotation, 200, mixed, any);
    ProbeBursts(sim, shared, 200, mixed_shared, any);
  });
  Simulation::ForSeeds(1, 20, [&](Simulation& sim) {
    gen::Node& node = sim.Node("pace@sim");
    const gen::PID pool = node.Spawn(gen::Factory<PacedPool>(shared, 4)).value();
    // Nine tenths of what four workers could do.
    for (int i = 0; i < 3000; ++i) {
      REQUIRE(node.Send(pool, Errand{10ms}));
      if (i % 100 == 99 && act::Stats(node, pool).value().queued > 0) {
        steady.Probe(sim, pool, {.takes = 10ms});
      }
      sim.RunFor(sim.Random(0ns, 5500us));
    }
  });
  // As PoolStats says. What is waited for at one worker, or in a queue, is not the mean of all jobs.
  CHECK(same.NineInTen() < 0.05);
  CHECK(mixed.NineInTen() < 0.6);
  CHECK(mixed_shared.NineInTen() < 0.6);
  CHECK(steady.NineInTenMicroseconds() < 5000);
}

TEST_CASE("pool pace: an admission limit goes by the same estimate, also when threads are rare") {
  // Each turn takes the only thread some milliseconds, in which a handler's own time is nothing: what a message waits
  // for is the pace at which its worker gets a turn.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Simulation sim(seed, {.turn_time_most = 10ms, .throughput_most = 1});
    gen::Node& node = sim.Node("pace@sim");
    constexpr auto kLimit = 500ms;
    const gen::PID pool =
        node.Spawn(gen::Factory<PacedPool>(act::PoolStrategy::Rotation(), 4, kLimit)).value();
    for (int i = 0; i < 100; ++i) REQUIRE(node.Send(pool, Errand{0ns, i}));
    sim.RunUntilIdle();
    int accepted = 0;
    gen::Result<void> sent;
    while (accepted < 1000 && (sent = node.Send(pool, Errand{0ns, accepted}))) ++accepted;
    REQUIRE(sent.error() == gen::ErrOverloaded);
    const auto estimate = act::Stats(node, pool).value().queue_wait_estimate;
    CAPTURE(accepted);
    CAPTURE(estimate.count());
    CHECK(estimate > 0.8 * kLimit);
    CHECK(estimate < 1.1 * kLimit);
    // With the hint there is room again, and not much sooner.
    const auto hint = sent.error().RetryAfter();
    CHECK(hint > 0ns);
    CHECK(hint < 100ms);
    sim.RunFor(2 * hint + 40ms);
    CHECK(node.Send(pool, Errand{0ns}).has_value());
  }
}

}  // namespace
}  // namespace ergon::testkit::pool_pace_test
