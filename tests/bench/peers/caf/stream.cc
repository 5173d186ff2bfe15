// Producers that send everything from one handler, and consumers that count.
#include <bench/peers/caf/workload.h>

namespace ergon::bench::on_caf {
namespace {

class Consumer final : public caf::event_based_actor {
 public:
  Consumer(caf::actor_config& config, Finish* finish, std::int64_t expected)
      : caf::event_based_actor(config), finish_(finish), left_(expected) {}

 private:
  caf::behavior make_behavior() override {
    return {[this](std::int64_t) {
      if (--left_ == 0) finish_->Part();
    }};
  }

  Finish* finish_;
  std::int64_t left_;
};

Measurement RunPairs(caf::actor_system& system, std::int64_t pairs, std::int64_t n) {
  Finish finish(pairs);
  Cast cast(system);
  std::vector<std::pair<caf::actor, caf::actor>> streams;
  for (std::int64_t i = 0; i < pairs; ++i) {
    streams.emplace_back(cast.Spawn<Producer>(), cast.Spawn<Consumer>(&finish, n));
  }
  const std::int64_t start = Now();
  for (const auto& [producer, consumer] : streams) {
    TellToBegin(producer, consumer, n);
  }
  return {pairs * n, finish.Wait() - start};
}

Measurement RunFanIn(caf::actor_system& system, const Params& params) {
  const std::int64_t n = params["n"];
  const std::int64_t producers = params["producers"];
  Finish finish(1);
  Cast cast(system);
  const caf::actor consumer = cast.Spawn<Consumer>(&finish, producers * n);
  std::vector<caf::actor> senders;
  for (std::int64_t i = 0; i < producers; ++i) senders.push_back(cast.Spawn<Producer>());
  const std::int64_t start = Now();
  for (const caf::actor& sender : senders) TellToBegin(sender, consumer, n);
  return {producers * n, finish.Wait() - start};
}

}  // namespace

Workload Stream() {
  return {"stream",
          "messages from one producer's handler to one consumer",
          {{"n", 3'000'000}},
          [](caf::actor_system& system, const Params& params) {
            return RunPairs(system, 1, params["n"]);
          }};
}

Workload StreamPairs() {
  return {"stream_nn",
          "independent streams side by side",
          {{"pairs", 2, 1, 1'000'000}, {"n", 1'000'000}},
          [](caf::actor_system& system, const Params& params) {
            return RunPairs(system, params["pairs"], params["n"]);
          }};
}

Workload FanIn() {
  return {"fan_in",
          "many producers, one consumer",
          {{"producers", 8, 1, 100'000}, {"n", 500'000}},
          RunFanIn};
}

}  // namespace ergon::bench::on_caf
