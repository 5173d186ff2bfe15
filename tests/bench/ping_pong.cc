// One message in flight between two processes, and the same many times side by side.
#include <bench/workload.h>
#include <ergon/act/actor.h>

namespace ergon::bench {
namespace {

class Ponger final : public act::Actor {
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    Must(Send(from, *message.As<Number>()));
    return gen::Continue();
  }
};

class Pinger final : public act::Actor {
 public:
  explicit Pinger(Finish* finish) : finish_(finish) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    if (auto* number = message.As<Number>()) {
      if (--left_ > 0) {
        Must(Send(from, *number));
      } else {
        finish_->Part();
      }
    } else if (auto* start = message.As<Start>()) {
      left_ = start->count;
      Must(Send(start->peer, Number{1}));
    }
    return gen::Continue();
  }

  Finish* finish_;
  std::int64_t left_ = 0;
};

Measurement Run(gen::Node& node, std::int64_t pairs, std::int64_t round_trips) {
  Finish finish(node, pairs);
  Cast cast(node);
  std::vector<std::pair<gen::PID, gen::PID>> players;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const gen::PID pinger = cast.Spawn(gen::Factory<Pinger>(&finish));
    players.emplace_back(pinger, cast.Spawn(gen::Factory<Ponger>()));
  }
  const std::int64_t start = Now();
  for (const auto& [pinger, ponger] : players) Must(node.Send(pinger, Start{ponger, round_trips}));
  return {pairs * round_trips, finish.Wait() - start};
}

}  // namespace

Workload PingPong() {
  return {"ping_pong",
          "round trips of one message between two processes",
          {{"n", 1'000'000}},
          [](gen::Node& node, const Params& params) { return Run(node, 1, params["n"]); }};
}

Workload PingPongPairs() {
  return {"ping_pong_pairs",
          "the same, many pairs at once",
          {{"pairs", 100, 1, 1'000'000}, {"n", 20'000}},
          [](gen::Node& node, const Params& params) {
            return Run(node, params["pairs"], params["n"]);
          }};
}

}  // namespace ergon::bench
