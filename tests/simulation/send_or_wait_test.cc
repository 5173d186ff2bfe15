// Back-pressure under many interleavings and ends: who waits is served, or told, in the order of waiting.
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::send_or_wait_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Load {
  int sender = 0;
  int number = 0;
};

struct Tally {
  std::vector<int> accepted;  // by sender
  std::vector<int> handled;
};

class Carrier : public act::Actor {
 public:
  explicit Carrier(std::shared_ptr<Tally> tally) : tally_(std::move(tally)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const Load load = message.Take<Load>();
    const auto sender = static_cast<std::size_t>(load.sender);
    if (load.number % 4 == 0) (void)Sleep(20us);
    ++tally_->handled[sender];
    return gen::Continue();
  }
  std::shared_ptr<Tally> tally_;
};

class Carriers : public act::Pool {
 public:
  explicit Carriers(act::PoolOptions options) : options_(std::move(options)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override { return options_; }
  act::PoolOptions options_;
};

act::PoolStrategy StrategyOf(std::int64_t number) {
  switch (number) {
    case 0:
      return act::PoolStrategy::LeastLoaded();
    case 1:
      return act::PoolStrategy::ByKey<Load>([](const Load& load) { return load.number % 5; });
    case 2:
      return act::PoolStrategy::SharedQueue();
    default:
      return act::PoolStrategy::Rotation();
  }
}

TEST_CASE("send or wait: nobody is forgotten at any seed") {
  Simulation::ForSeeds(1, 400, [](Simulation& sim) {
    gen::Node& node = sim.Node("pressure@sim");
    const int senders = static_cast<int>(sim.Random(1, 6));
    constexpr int kLoads = 25;
    const auto tally = std::make_shared<Tally>();
    tally->accepted.resize(static_cast<std::size_t>(senders));
    tally->handled.resize(static_cast<std::size_t>(senders));
    const bool is_pool = sim.Chance(0.6);
    const bool has_faults = sim.Chance(0.5);
    Faults faults;
    if (has_faults) {
      faults.throw_before = 0.03;
      faults.kill = 0.03;
    }
    const auto worker = sim.WithFaults(gen::Factory<Carrier>(tally), faults);
    gen::PID to;
    if (is_pool) {
      const act::PoolOptions options{.pool_size = static_cast<int>(sim.Random(1, 4)),
                                     .worker_factory = worker,
                                     .worker_mailbox_size = static_cast<int>(sim.Random(1, 3)),
                                     .strategy = StrategyOf(sim.Random(0, 5)),
                                     .restart_backoff_min = 50us,
                                     .restart_backoff_max = 200us};
      to = node.Spawn(gen::Factory<Carriers>(options)).value();
    } else {
      to = node.Spawn(worker, {.mailbox_size = static_cast<int>(sim.Random(1, 3))}).value();
    }
    const bool has_patience = sim.Chance(0.5);
    int told = 0;
    for (int i = 0; i < senders; ++i) {
      const auto patience = has_patience ? gen::kInfinite : sim.Random(1us, 60us);
      const bool is_killed = sim.Chance(0.15);
      const gen::PID sender = node.Spawn([tally, i, to, patience, &told](gen::Process& self) {
                                    for (int k = 0; k < kLoads; ++k) {
                                      const auto sent = self.SendOrWait(to, Load{i, k}, patience);
                                      if (sent) ++tally->accepted[static_cast<std::size_t>(i)];
                                      if (!sent && sent.error() == gen::ErrProcessTerminated)
                                        return;
                                      if (!sent) ++told;
                                    }
                                  })
                                  .value();
      if (is_killed) sim.Kill(sender, sim.Random(0us, 300us));
    }
    if (sim.Chance(0.2)) sim.Kill(to, sim.Random(0us, 300us));
    sim.RunUntilIdle();
    // Only the receiver is left, if that: nobody waits for ever.
    CHECK(node.Info().processes <= (is_pool ? 5u : 1u));
    for (const gen::PID pid : node.ProcessList()) {
      CHECK(node.ProcessInfo(pid)->state != gen::ProcessState::kWaiting);
    }
    if (!has_faults && has_patience && node.ProcessInfo(to)) CHECK(told == 0);
    for (std::size_t i = 0; i < tally->accepted.size(); ++i) {
      // One more: a sender may be killed before it has counted the last one.
      CHECK(tally->handled[i] <= tally->accepted[i] + 1);
    }
    sim.ExpectConservation();
  });
}

}  // namespace
}  // namespace ergon::testkit::send_or_wait_test
