// Producers that send everything from one handler, and consumers that count.
#include <bench/producer.h>
#include <bench/workload.h>
#include <ergon/act/actor.h>

namespace ergon::bench {
namespace {

class Consumer final : public act::Actor {
 public:
  Consumer(Finish* finish, std::int64_t expected) : finish_(finish), left_(expected) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    if (--left_ == 0) finish_->Part();
    return gen::Continue();
  }

  Finish* finish_;
  std::int64_t left_;
};

Measurement RunPairs(gen::Node& node, const Params& params, std::int64_t pairs) {
  const std::int64_t n = params["n"];
  Finish finish(node, pairs);
  Cast cast(node);
  std::vector<std::pair<gen::PID, gen::PID>> streams;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const gen::PID consumer = cast.Spawn(gen::Factory<Consumer>(&finish, n));
    streams.emplace_back(cast.Spawn(gen::Factory<Producer>(), ProducerOptions(params)), consumer);
  }
  const std::int64_t start = Now();
  for (const auto& [producer, consumer] : streams) Must(node.Send(producer, Start{consumer, n}));
  return {pairs * n, finish.Wait() - start};
}

Measurement RunFanIn(gen::Node& node, const Params& params) {
  const std::int64_t n = params["n"];
  const std::int64_t producers = params["producers"];
  Finish finish(node, 1);
  Cast cast(node);
  const gen::PID consumer = cast.Spawn(gen::Factory<Consumer>(&finish, producers * n));
  std::vector<gen::PID> senders;
  for (std::int64_t i = 0; i < producers; ++i) {
    senders.push_back(cast.Spawn(gen::Factory<Producer>(), ProducerOptions(params)));
  }
  const std::int64_t start = Now();
  for (const gen::PID sender : senders) Must(node.Send(sender, Start{consumer, n}));
  return {producers * n, finish.Wait() - start};
}

}  // namespace

Workload Stream() {
  return {"stream",
          "messages from one producer's handler to one consumer",
          {{"n", 3'000'000}, kYieldOnSend},
          [](gen::Node& node, const Params& params) { return RunPairs(node, params, 1); }};
}

Workload StreamPairs() {
  return {"stream_nn",
          "independent streams side by side",
          {{"pairs", 2, 1, 1'000'000}, {"n", 1'000'000}, kYieldOnSend},
          [](gen::Node& node, const Params& params) {
            return RunPairs(node, params, params["pairs"]);
          }};
}

Workload FanIn() {
  return {"fan_in",
          "many producers, one consumer",
          {{"producers", 8, 1, 100'000}, {"n", 500'000}, kYieldOnSend},
          RunFanIn};
}

}  // namespace ergon::bench
