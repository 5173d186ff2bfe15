// Producers that send everything from one handler, and consumers that count.
#include <bench/peers/sobjectizer/workload.h>

namespace ergon::bench::on_sobjectizer {
namespace {

class Consumer final : public so_5::agent_t {
 public:
  Consumer(context_t context, Finish* finish, std::int64_t expected)
      : so_5::agent_t(std::move(context)), finish_(finish), left_(expected) {}

 private:
  void so_define_agent() override {
    so_subscribe_self().event([this](so_5::mhood_t<Number>) {
      if (--left_ == 0) finish_->Part();
    });
  }

  Finish* finish_;
  std::int64_t left_;
};

Measurement RunPairs(const System& system, std::int64_t pairs, std::int64_t n) {
  Finish finish(pairs);
  std::vector<std::pair<so_5::mbox_t, so_5::mbox_t>> streams;
  const Cast cast(system, [&](so_5::coop_t& coop) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      streams.emplace_back(coop.make_agent<Producer>()->so_direct_mbox(),
                           coop.make_agent<Consumer>(&finish, n)->so_direct_mbox());
    }
  });
  const std::int64_t start = Now();
  for (const auto& [producer, consumer] : streams) {
    so_5::send<Begin>(producer, std::vector{consumer}, n);
  }
  return {pairs * n, finish.Wait() - start};
}

Measurement RunFanIn(const System& system, const Params& params) {
  const std::int64_t n = params["n"];
  const std::int64_t producers = params["producers"];
  Finish finish(1);
  so_5::mbox_t consumer;
  std::vector<so_5::mbox_t> senders;
  const Cast cast(system, [&](so_5::coop_t& coop) {
    consumer = coop.make_agent<Consumer>(&finish, producers * n)->so_direct_mbox();
    for (std::int64_t i = 0; i < producers; ++i) {
      senders.push_back(coop.make_agent<Producer>()->so_direct_mbox());
    }
  });
  const std::int64_t start = Now();
  for (const so_5::mbox_t& sender : senders) so_5::send<Begin>(sender, std::vector{consumer}, n);
  return {producers * n, finish.Wait() - start};
}

}  // namespace

Workload Stream() {
  return {
      "stream",
      "messages from one producer's handler to one consumer",
      {{"n", 3'000'000}},
      [](const System& system, const Params& params) { return RunPairs(system, 1, params["n"]); }};
}

Workload StreamPairs() {
  return {"stream_nn",
          "independent streams side by side",
          {{"pairs", 2, 1, 1'000'000}, {"n", 1'000'000}},
          [](const System& system, const Params& params) {
            return RunPairs(system, params["pairs"], params["n"]);
          }};
}

Workload FanIn() {
  return {"fan_in",
          "many producers, one consumer",
          {{"producers", 8, 1, 100'000}, {"n", 500'000}},
          RunFanIn};
}

}  // namespace ergon::bench::on_sobjectizer
