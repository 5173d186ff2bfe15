// Processes of two nodes whose PIDs have the same number.
#include <cstdint>
#include <utility>

#include <ergon/act/pool.h>

#include <cluster/cluster.h>

namespace ergon::dist::alike_pids_test {

class TellsItsNumber final : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(static_cast<std::int64_t>(Self().id));
  }
};

// Passes a request on, as its own.
class Asks final : public act::Actor {
 public:
  explicit Asks(gen::ProcessID pool) : pool_(pool) {}

 private:
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    auto answer = Call<std::int64_t>(pool_, Sum{});
    return answer ? gen::Reply(*answer) : gen::ReplyError(answer.error());
  }
  const gen::ProcessID pool_;
};

class OneWorker final : public act::Pool {
 public:
  explicit OneWorker(act::PoolStrategy strategy) : strategy_(std::move(strategy)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 1, .worker_factory = gen::Factory<TellsItsNumber>(), .strategy = strategy_};
  }
  const act::PoolStrategy strategy_;
};

TEST_CASE("alike PIDs: a caller of another node is not taken for the worker with its number") {
  for (const auto& [name, strategy] :
       {std::pair{"alike_rotation", act::PoolStrategy::Rotation()},
        std::pair{"alike_queue", act::PoolStrategy::SharedQueue()}}) {
    CAPTURE(name);
    Cluster cluster(name);
    cluster.b.SpawnRegister("pool", gen::Factory<OneWorker>(strategy)).value();
    const auto worker = cluster.a.Call<std::int64_t>(cluster.OnB("pool"), Sum{}).value();
    bool was_asked = false;
    for (int i = 0; i < 10'000 && !was_asked; ++i) {
      const auto asks = cluster.a.Spawn(gen::Factory<Asks>(cluster.OnB("pool"))).value();
      if (static_cast<std::int64_t>(asks.id) != worker) continue;
      was_asked = true;
      CHECK(cluster.a.Call<std::int64_t>(asks, Sum{}).value() == worker);
    }
    CHECK(was_asked);
  }
}

}  // namespace ergon::dist::alike_pids_test
