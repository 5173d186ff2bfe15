// A pool that sizes itself, under many interleavings: no message is lost, its numbers stay within their bounds, and it
// comes to rest.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/act/pool_stats.h>
#include <ergon/testkit/simulation.h>

#include <size_changes.h>

namespace ergon::testkit::pool_autoscale_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using std::chrono::nanoseconds;

struct Errand {
  nanoseconds takes{0};
  int key = 0;
  nanoseconds sent_at{0};
};

// What workers have done, and the database that all of them ask.
struct Done {
  int handled = 0;
  int running = 0;
  int database = 0;      // so many at once; 0: any number
  int slower = 1;        // times as long does it take for each
  int waited = 0;        // messages that were begun
  nanoseconds waits{0};  // of these, in all, if `sim` is given
  const Simulation* sim = nullptr;
};

class Runner : public act::Actor {
 public:
  explicit Runner(Done* done) : done_(done) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    ++done_->running;
    ++done_->waited;
    if (done_->sim != nullptr) done_->waits += done_->sim->Now() - message.As<Errand>()->sent_at;
    const nanoseconds takes = message.As<Errand>()->takes * done_->slower;
    const int share = done_->database == 0 ? 1 : std::max(1, done_->running / done_->database);
    (void)Sleep(takes * share);
    --done_->running;
    ++done_->handled;
    return gen::Continue();
  }
  Done* done_;
};

struct Add {
  using Reply = int;
  int workers = 0;
};

class ScalingPool : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args& args) override {
    return args.Get<act::PoolOptions>(0).value();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    const int workers = request.As<Add>()->workers;
    const auto size = workers > 0 ? AddWorkers(workers) : RemoveWorkers(-workers);
    if (!size) return gen::ReplyError(size.error());
    return gen::Reply(static_cast<int>(*size));
  }
};

constexpr gen::CallOptions kToThePool{.priority = gen::MessagePriority::kHigh};

gen::PID Start(gen::Node& node, Done& done, int size, const act::PoolAutoscale& autoscale,
               act::PoolStrategy strategy = act::PoolStrategy::SharedQueue(), int mailbox = 0) {
  const act::PoolOptions options{.pool_size = size,
                                 .autoscale = autoscale,
                                 .worker_factory = gen::Factory<Runner>(&done),
                                 .worker_mailbox_size = mailbox,
                                 .strategy = std::move(strategy)};
  return node.Spawn(gen::Factory<ScalingPool>(), {}, gen::MakeArgs(options)).value();
}

int Size(gen::Node& node, gen::PID pool) {
  return static_cast<int>(act::Stats(node, pool).value().size);
}

act::PoolStrategy AnyStrategy(Simulation& sim) {
  const act::PoolStrategy strategies[] = {
      act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded(), act::PoolStrategy::Random(),
      act::PoolStrategy::SharedQueue(),
      act::PoolStrategy::ByKey<Errand>([](const Errand& errand) { return errand.key; })};
  return strategies[sim.Random(0, 4)];
}

bool HasLogged(const Simulation& sim, std::string_view text) {
  return std::any_of(sim.Log().begin(), sim.Log().end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST_CASE(
    "pool autoscale: steps and bursts by any strategy; all is handled, then it comes to rest") {
  Simulation::ForSeeds(1, 40, [](Simulation& sim) {
    gen::Node& node = sim.Node("scale@sim");
    Done done;
    const act::PoolAutoscale autoscale{.min = static_cast<int>(sim.Random(1, 3)),
                                       .max = static_cast<int>(sim.Random(3, 20)),
                                       .target_wait = sim.Random(1ms, 50ms),
                                       .shrink_after = sim.Random(1s, 5s)};
    const int mailbox = sim.Chance(0.5) ? static_cast<int>(sim.Random(5, 50)) : 0;
    const gen::PID pool = Start(node, done, autoscale.min, autoscale, AnyStrategy(sim), mailbox);
    int accepted = 0;
    const auto send = [&] {
      const Errand errand{sim.Random(1ms, 40ms), static_cast<int>(sim.Random(0, 100))};
      const auto sent = node.Send(pool, errand);
      if (sent) {
        ++accepted;
      } else {
        CHECK(sent.error() == gen::ErrProcessMailboxFull);
      }
    };
    for (int phase = 0; phase < 4; ++phase) {
      const bool is_burst = sim.Chance(0.3);
      const nanoseconds most = is_burst ? nanoseconds(0) : sim.Random(2ms, 30ms);
      for (int i = 0; i < 150; ++i) {
        send();
        if (most > 0ns) sim.RunFor(sim.Random(0ns, most));
        if (i % 10 != 0) continue;
        const int size = Size(node, pool);
        CHECK(size >= autoscale.min);
        CHECK(size <= autoscale.max);
      }
      if (sim.Chance(0.5)) {
        sim.RunUntilIdle();  // at rest
        CHECK(Size(node, pool) == autoscale.min);
      } else {
        sim.RunFor(sim.Random(0s, 10s));
      }
    }
    sim.RunUntilIdle();
    const act::PoolStats stats = act::Stats(node, pool).value();
    CHECK(static_cast<int>(stats.size) == autoscale.min);
    CHECK(stats.leaving == 0);
    CHECK(done.handled == accepted);
    CHECK(stats.Lost() == 0);
    CHECK(stats.queued == 0);
    CHECK(static_cast<int>(stats.handled) == accepted);
    CHECK(static_cast<int>(stats.forwarded) == accepted);
    sim.ExpectConservation();
  });
}

TEST_CASE("pool autoscale: more workers within three handling times of a load, and it says why") {
  Simulation::ForSeeds(1, 20, [](Simulation& sim) {
    gen::Node& node = sim.Node("scale@sim");
    Done done;
    const gen::PID pool = Start(node, done, 2, {.min = 2, .max = 16}, AnyStrategy(sim));
    sim.RunUntilIdle();  // at rest: the first message wakes it
    constexpr nanoseconds kTakes = 50ms;
    for (int i = 0; i < 60; ++i) {
      REQUIRE(node.Send(pool, Errand{kTakes, i}));
      sim.RunFor(kTakes / 20);
    }
    CHECK(Size(node, pool) > 2);
    const auto inspection = node.Inspect(pool, {"autoscale"}).value();
    CHECK(inspection.at("autoscale") == "2..16 workers, a wait of 10 ms");
    CHECK(inspection.at("autoscale.1").find("workers: messages wait longer than 10 ms (") !=
          std::string::npos);
    CHECK(HasLogged(sim, "autoscale: 2 -> 4 workers: messages wait longer than 10 ms ("));
    sim.RunUntilIdle();
    CHECK(node.Inspect(pool, {"autoscale"}).value().at("autoscale.1").find("been enough for") !=
          std::string::npos);
    CHECK(done.handled == 60);
    CHECK(Size(node, pool) == 2);
  });
}

// What the log tells of the number of workers, which is `size` at first.
class ToldChanges {
 public:
  ToldChanges(const Simulation& sim, int size) : sim_(sim), size_(size) {}
  // Reads what is new in the log.
  void Read() {
    for (; read_ < sim_.Log().size(); ++read_) {
      const std::string& line = sim_.Log()[read_];
      const std::size_t begin = line.find("autoscale: ");
      if (begin == std::string::npos) continue;
      SizeChange change{.at = std::chrono::duration<double>(sim_.Now()).count()};
      if (std::sscanf(line.c_str() + begin, "autoscale: %d -> %d workers", &change.before,
                      &change.after) != 2) {
        continue;
      }
      CHECK(change.before == std::exchange(size_, change.after));
      change.is_undone = line.find(kNoHelp) != std::string::npos;
      changes_.push_back(change);
    }
  }
  [[nodiscard]] const std::vector<SizeChange>& changes() const { return changes_; }

 private:
  const Simulation& sim_;
  int size_;
  std::size_t read_ = 0;
  std::vector<SizeChange> changes_;
};

// Messages for a pool with the fewest workers: steps, waves, bursts and a slow database, one after the other.
class LoadedPool {
 public:
  explicit LoadedPool(Simulation& sim)
      : sim_(sim),
        node_(sim.Node("laws@sim")),
        autoscale_{.min = static_cast<int>(sim.Random(1, 3)),
                   .max = 64,
                   .target_wait = sim.Random(20ms, 100ms),
                   .shrink_after = sim.Random(1s, 3s)},
        done_{.sim = &sim},
        pool_(Start(node_, done_, autoscale_.min, autoscale_)),
        told_(sim, autoscale_.min) {}

  // Returns whether messages had to wait too long, though there could be enough workers.
  bool RunPhase() {
    const auto kind = sim_.Random(0, 3);
    const double busy = static_cast<double>(sim_.Random(2, kind == 3 ? 20 : 60)) / 10;
    const nanoseconds length = sim_.Random(1s, 8s);
    done_.slower = kind == 3 ? static_cast<int>(sim_.Random(2, 4)) : 1;
    const nanoseconds begins = sim_.Now();
    const nanoseconds settled = begins + 2s + 20 * kTakes * done_.slower;
    const nanoseconds ends = settled + sim_.Random(3s, 8s);
    bool is_settled = false;
    while (sim_.Now() < ends) {
      if (!is_settled && sim_.Now() >= settled) {
        is_settled = true;
        done_.waited = 0;
        done_.waits = 0ns;
      }
      const double part = static_cast<double>((sim_.Now() - begins).count() % length.count()) /
                          static_cast<double>(length.count());
      double now = busy;
      if (kind == 1) now *= 1 + std::sin(part * 6.283);
      if (kind == 2) now *= part < 0.02 ? 10 : 0.25;
      Send(now);
    }
    return kind != 2 && done_.waits > 2 * autoscale_.target_wait * done_.slower * done_.waited;
  }
  void End() {
    done_.slower = 1;
    sim_.RunUntilIdle();
    told_.Read();
    const act::PoolStats stats = act::Stats(node_, pool_).value();
    CHECK(static_cast<int>(stats.size) == autoscale_.min);
    CHECK(done_.handled == accepted_);
    CHECK(static_cast<int>(stats.handled) == accepted_);
    CHECK(stats.Lost() == 0);
    for (const SizeChange& change : told_.changes()) {
      CHECK(change.after >= autoscale_.min);
      CHECK(change.after <= autoscale_.max);
    }
    CheckTurns(told_.changes(), std::chrono::duration<double>(autoscale_.shrink_after).count());
    sim_.ExpectConservation();
  }

 private:
  static constexpr nanoseconds kTakes = 50ms;

  // Sends a message, and waits for the next one that keeps so many workers busy.
  void Send(double busy) {
    const nanoseconds pause =
        busy < 0.1
            ? nanoseconds(kTakes)
            : nanoseconds(static_cast<std::int64_t>(static_cast<double>(kTakes.count()) / busy));
    if (busy >= 0.1) {
      REQUIRE(node_.Send(pool_, Errand{kTakes, accepted_, sim_.Now()}));
      ++accepted_;
    }
    sim_.RunFor(sim_.Random(0ns, 2 * pause));
    told_.Read();
  }

  Simulation& sim_;
  gen::Node& node_;
  const act::PoolAutoscale autoscale_;
  Done done_;
  const gen::PID pool_;
  ToldChanges told_;
  int accepted_ = 0;
};

TEST_CASE(
    "pool autoscale: by any load it keeps its bounds, loses nothing, lets nobody wait, and turns "
    "seldom") {
  int late = 0;
  int phases = 0;
  Simulation::ForSeeds(1, 40, [&](Simulation& sim) {
    LoadedPool pool(sim);
    for (int i = 0; i < 3; ++i) {
      ++phases;
      if (pool.RunPhase()) ++late;
    }
    pool.End();
  });
  CAPTURE(phases);
  CHECK(late <= 1 + phases / 50);  // messages come by chance
}

TEST_CASE("pool autoscale: workers that wait for one database are not made more than help") {
  Simulation::ForSeeds(1, 10, [](Simulation& sim) {
    gen::Node& node = sim.Node("scale@sim");
    Done done{.database = 4};
    const gen::PID pool = Start(node, done, 8, {.min = 1, .max = 200}, AnyStrategy(sim));
    for (int i = 0; i < 8000; ++i) REQUIRE(node.Send(pool, Errand{10ms, i}));
    sim.RunFor(15s);
    CHECK(Size(node, pool) <= 40);
    CHECK(HasLogged(sim, "throughput no longer rises with workers"));
    sim.RunUntilIdle();
    CHECK(done.handled == 8000);
  });
}

TEST_CASE("pool autoscale: by hand the number moves at once, within the bounds") {
  Simulation::ForSeeds(1, 10, [](Simulation& sim) {
    gen::Node& node = sim.Node("scale@sim");
    Done done;
    const gen::PID pool = Start(node, done, 2, {.min = 2, .max = 8});
    CHECK(node.Call(pool, Add{4}, kToThePool).value() == 6);
    const auto more = node.Call(pool, Add{3}, kToThePool);
    REQUIRE(!more);
    CHECK(more.error() == gen::ErrIncorrect);
    CHECK(more.error().ToString().find(
              "AddWorkers: 9 workers are outside 2..8, the bounds of autoscale") !=
          std::string::npos);
    const auto less = node.Call(pool, Add{-5}, kToThePool);
    REQUIRE(!less);
    CHECK(less.error().ToString().find(
              "RemoveWorkers: 1 worker is outside 2..8, the bounds of autoscale") !=
          std::string::npos);
    const auto change = node.Call(pool, act::PoolChange{.pool_size = 9}, kToThePool);
    REQUIRE(!change);
    CHECK(change.error().ToString().find("pool_size: 9 is outside 2..8, the bounds of autoscale") !=
          std::string::npos);
    CHECK(Size(node, pool) == 6);
    CHECK(node.Call(pool, Add{-1}, kToThePool).value() == 5);
    sim.RunFor(9s);
    CHECK(Size(node, pool) == 5);
    sim.RunUntilIdle();  // and then it goes on by itself
    CHECK(Size(node, pool) == 2);
  });
}

}  // namespace
}  // namespace ergon::testkit::pool_autoscale_test
