// One message in flight between two agents, and the same many times side by side.
#include <bench/peers/sobjectizer/workload.h>

namespace ergon::bench::on_sobjectizer {
namespace {

class Ponger final : public so_5::agent_t {
 public:
  Ponger(context_t context, so_5::mbox_t pinger)
      : so_5::agent_t(std::move(context)), pinger_(std::move(pinger)) {}

 private:
  void so_define_agent() override {
    so_subscribe_self().event(
        [this](so_5::mhood_t<Number> number) { so_5::send(pinger_, number); });
  }

  const so_5::mbox_t pinger_;
};

class Pinger final : public so_5::agent_t {
 public:
  Pinger(context_t context, Finish* finish) : so_5::agent_t(std::move(context)), finish_(finish) {}

 private:
  void so_define_agent() override {
    so_subscribe_self()
        .event([this](so_5::mhood_t<Number> number) {
          if (--left_ > 0) {
            so_5::send(ponger_, number);
          } else {
            finish_->Part();
          }
        })
        .event([this](so_5::mhood_t<Begin> begin) {
          ponger_ = begin->peers.front();
          left_ = begin->count;
          so_5::send<Number>(ponger_, 1);
        });
  }

  Finish* finish_;
  so_5::mbox_t ponger_;
  std::int64_t left_ = 0;
};

Measurement RunPairs(const System& system, std::int64_t pairs, std::int64_t round_trips) {
  Finish finish(pairs);
  std::vector<std::pair<so_5::mbox_t, so_5::mbox_t>> players;
  const Cast cast(system, [&](so_5::coop_t& coop) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const so_5::mbox_t pinger = coop.make_agent<Pinger>(&finish)->so_direct_mbox();
      players.emplace_back(pinger, coop.make_agent<Ponger>(pinger)->so_direct_mbox());
    }
  });
  const std::int64_t start = Now();
  for (const auto& [pinger, ponger] : players) {
    so_5::send<Begin>(pinger, std::vector{ponger}, round_trips);
  }
  return {pairs * round_trips, finish.Wait() - start};
}

}  // namespace

Workload PingPong() {
  return {
      "ping_pong",
      "round trips of one message between two agents",
      {{"n", 1'000'000}},
      [](const System& system, const Params& params) { return RunPairs(system, 1, params["n"]); }};
}

Workload PingPongPairs() {
  return {"ping_pong_pairs",
          "the same, many pairs at once",
          {{"pairs", 100, 1, 1'000'000}, {"n", 20'000}},
          [](const System& system, const Params& params) {
            return RunPairs(system, params["pairs"], params["n"]);
          }};
}

}  // namespace ergon::bench::on_sobjectizer
