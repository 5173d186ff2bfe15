// One message in flight between two actors, and the same many times side by side.
#include <bench/peers/caf/workload.h>

namespace ergon::bench::on_caf {
namespace {

class Ponger final : public caf::event_based_actor {
 public:
  using caf::event_based_actor::event_based_actor;

 private:
  caf::behavior make_behavior() override {
    return {[](std::int64_t number) { return number; }};
  }
};

class Pinger final : public caf::event_based_actor {
 public:
  Pinger(caf::actor_config& config, Finish* finish)
      : caf::event_based_actor(config), finish_(finish) {}

 private:
  caf::behavior make_behavior() override {
    return {[this](std::int64_t number) {
              if (--left_ > 0) {
                Tell(*this, peer_, number);
              } else {
                peer_ = nullptr;
                finish_->Part();
              }
            },
            [this](Begin, const caf::actor& peer, std::int64_t count) {
              peer_ = peer;
              left_ = count;
              Tell(*this, peer_, std::int64_t{1});
            }};
  }

  Finish* finish_;
  caf::actor peer_;
  std::int64_t left_ = 0;
};

Measurement RunPairs(caf::actor_system& system, std::int64_t pairs, std::int64_t round_trips) {
  Finish finish(pairs);
  Cast cast(system);
  std::vector<std::pair<caf::actor, caf::actor>> players;
  for (std::int64_t i = 0; i < pairs; ++i) {
    players.emplace_back(cast.Spawn<Pinger>(&finish), cast.Spawn<Ponger>());
  }
  const std::int64_t start = Now();
  for (const auto& [pinger, ponger] : players) {
    TellToBegin(pinger, ponger, round_trips);
  }
  return {pairs * round_trips, finish.Wait() - start};
}

}  // namespace

Workload PingPong() {
  return {"ping_pong",
          "round trips of one message between two actors",
          {{"n", 1'000'000}},
          [](caf::actor_system& system, const Params& params) {
            return RunPairs(system, 1, params["n"]);
          }};
}

Workload PingPongPairs() {
  return {"ping_pong_pairs",
          "the same, many pairs at once",
          {{"pairs", 100, 1, 1'000'000}, {"n", 20'000}},
          [](caf::actor_system& system, const Params& params) {
            return RunPairs(system, params["pairs"], params["n"]);
          }};
}

}  // namespace ergon::bench::on_caf
