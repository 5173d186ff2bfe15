// A pool's admission limit where not all workers are plain processes that live.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::pool_admission_test {
namespace pool_admission {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

constexpr auto kLimit = 45ms;
constexpr int kJobs = 400;

struct Job {};
struct Crash {};

// Takes 10 ms for a job.
class Worker : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<Crash>()) throw std::runtime_error("told to");
    (void)Sleep(10ms);
    return gen::Continue();
  }
};

class Pool : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args& args) override {
    return args.Get<act::PoolOptions>(0).value();
  }
};

act::PoolStrategy OneOfSenders(Simulation& sim) {
  switch (sim.Random(0, 2)) {
    case 0:
      return act::PoolStrategy::Rotation();
    case 1:
      return act::PoolStrategy::LeastLoaded();
    default:
      return act::PoolStrategy::Random(static_cast<std::uint64_t>(sim.Random(0, 100)));
  }
}

// Returns how many of kJobs the pool has taken. The others were refused for its load.
int Burst(Simulation& sim, gen::Node& node, gen::PID pool) {
  int accepted = 0;
  for (int i = 0; i < kJobs; ++i) {
    sim.After(std::chrono::microseconds(10 * i), [&] {
      const auto sent = node.Send(pool, Job{});
      if (sent) {
        ++accepted;
      } else {
        CHECK(sent.error() == gen::ErrOverloaded);
      }
    });
  }
  sim.RunFor(5ms);
  return accepted;
}

void CheckWithoutAWorker(Simulation& sim) {
  auto& node = sim.Node("test@localhost");
  const int size = static_cast<int>(sim.Random(2, 4));
  const act::PoolOptions options{.pool_size = size,
                                 .worker_factory = gen::Factory<Worker>(),
                                 .strategy = OneOfSenders(sim),
                                 .admission_limit = kLimit,
                                 .restart_backoff_min = 10s,
                                 .restart_backoff_max = 10s};
  const gen::PID pool = node.Spawn(gen::Factory<Pool>(), {}, gen::MakeArgs(options)).value();
  for (int i = 0; i < 20 * size; ++i) (void)node.Send(pool, Job{});
  sim.RunFor(1s);
  // The first two workers are replaced at once. The third one, as the second, had done nothing: its place stays empty.
  for (int i = 0; i < 3; ++i) {
    const auto workers = act::Stats(node, pool)->workers;
    node.Send(workers[0].pid, Crash{}).value();
    sim.RunFor(1ms);
  }
  REQUIRE(act::Stats(node, pool)->ready == static_cast<std::uint64_t>(size - 1));
  const int accepted = Burst(sim, node, pool);
  // Each worker: what it handles, and what it would handle within the limit.
  CHECK(accepted <= (size - 1) * 6);
  CHECK(act::Stats(node, pool)->overloaded == static_cast<std::uint64_t>(kJobs - accepted));
  const auto logged = [&](const char* text) {
    const auto& lines = sim.Log();
    return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  };
  CHECK(logged("messages would wait longer than 45 ms at all") == 1);
  CHECK(logged("there is room again") == 0);
  sim.RunUntilIdle();
  CHECK(logged("there is room again") == 1);
  CHECK(logged("messages would wait longer") == 1);
  sim.ExpectConservation();
}

TEST_CASE("the limit of the waiting time holds while a worker is missing") {
  Simulation::ForSeeds(1, 40, CheckWithoutAWorker);
}

// With a limit of the inner pools, the outer one may place its messages itself, too. Those wait there.
void CheckInnerLimits(Simulation& sim) {
  auto& node = sim.Node("test@localhost");
  const bool by_key = sim.Chance(0.5);
  const act::PoolOptions inner{
      .pool_size = 2, .worker_factory = gen::Factory<Worker>(), .admission_limit = kLimit};
  const act::PoolOptions outer{
      .pool_size = 2,
      .worker_factory = gen::Factory<Pool>(),
      .strategy = by_key ? act::PoolStrategy::ByKey<Job>([](const Job&) { return 1; })
                         : act::PoolStrategy::SharedQueue(),
      .worker_args = gen::MakeArgs(inner)};
  const gen::PID pool = node.Spawn(gen::Factory<Pool>(), {}, gen::MakeArgs(outer)).value();
  for (int i = 0; i < kJobs; ++i) node.Send(pool, Job{}).value();
  sim.RunUntilIdle();
  for (int i = 0; i < kJobs; ++i) node.Send(pool, Job{}).value();
  sim.RunUntilIdle();
  CHECK(act::Stats(node, pool)->handled == 2 * kJobs);
  CHECK(act::Stats(node, pool)->queued == 0);
  sim.ExpectConservation();
}

TEST_CASE("inner pools that have too much to do get the rest later") {
  Simulation::ForSeeds(1, 10, CheckInnerLimits);
}

void CheckPoolOfPools(Simulation& sim) {
  auto& node = sim.Node("test@localhost");
  const int size = static_cast<int>(sim.Random(1, 3));
  const bool inner_has_limit = sim.Random(0, 1) == 1;
  const act::PoolOptions inner{.pool_size = size,
                               .worker_factory = gen::Factory<Worker>(),
                               .admission_limit = inner_has_limit ? kLimit : 0ms};
  const act::PoolOptions outer{.pool_size = 2,
                               .worker_factory = gen::Factory<Pool>(),
                               .strategy = OneOfSenders(sim),
                               .admission_limit = inner_has_limit ? 0ms : kLimit,
                               .worker_args = gen::MakeArgs(inner)};
  const gen::PID pool = node.Spawn(gen::Factory<Pool>(), {}, gen::MakeArgs(outer)).value();
  // So that each worker has handled some in a row: then its pace is known, also to the outer pool.
  for (int i = 0; i < 20 * size; ++i) (void)node.Send(pool, Job{});
  sim.RunUntilIdle();
  const int accepted = Burst(sim, node, pool);
  CHECK(accepted >= 2 * size);
  CHECK(accepted <= 2 * size * 7);
  sim.RunUntilIdle();
  sim.ExpectConservation();
}

TEST_CASE("the limit of the waiting time holds in a pool of pools, whichever has it") {
  Simulation::ForSeeds(1, 40, CheckPoolOfPools);
}

void CheckCopies(Simulation& sim) {
  auto& node = sim.Node("test@localhost");
  const act::PoolOptions options{.pool_size = 2,
                                 .worker_factory = gen::Factory<Worker>(),
                                 .strategy = OneOfSenders(sim),
                                 .admission_limit = kLimit};
  const gen::PID pool = node.Spawn(gen::Factory<Pool>(), {}, gen::MakeArgs(options)).value();
  node.JoinGroup("pools", pool).value();
  for (int i = 0; i < 20; ++i) node.Send(pool, Job{}).value();
  sim.RunUntilIdle();
  std::uint64_t sent = 0;
  for (int i = 0; i < kJobs; ++i) sent += node.SendToGroup("pools", Job{}).value();
  CHECK(sent < kJobs);
  CHECK(node.Info().dropped_mailbox_full == kJobs - sent);
  CHECK(node.LastDrops().size() > 0);
  sim.RunUntilIdle();
  sim.ExpectConservation();
}

TEST_CASE("copies for a group's pool that it refuses for its load are counted") {
  Simulation::ForSeeds(1, 10, CheckCopies);
}

}  // namespace
}  // namespace pool_admission
}  // namespace ergon::testkit::pool_admission_test
