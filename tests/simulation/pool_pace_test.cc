// What a pool says of its waiting time, after hours without work and after jobs of another length.
#include <doctest/doctest.h>

#include <chrono>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/act/pool_stats.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Errand {
  std::chrono::nanoseconds takes{0};
  int key = 0;
};

class Runner : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    (void)Sleep(message.As<Errand>()->takes);
    return gen::Continue();
  }
};

class PacedPool : public act::Pool {
 public:
  PacedPool(act::PoolStrategy strategy, int size) : strategy_(std::move(strategy)), size_(size) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = size_, .worker_factory = gen::Factory<Runner>(), .strategy = strategy_};
  }
  const act::PoolStrategy strategy_;
  const int size_;
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

}  // namespace
}  // namespace ergon::testkit
