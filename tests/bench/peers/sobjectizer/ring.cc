// Tokens that go around a ring of agents.
#include <bench/peers/sobjectizer/workload.h>

namespace ergon::bench::on_sobjectizer {
namespace {

class Member final : public so_5::agent_t {
 public:
  Member(context_t context, Finish* finish) : so_5::agent_t(std::move(context)), finish_(finish) {}

 private:
  void so_define_agent() override {
    so_subscribe_self()
        .event([this](so_5::mutable_mhood_t<Number> token) {
          if (token->value == 0) {
            finish_->Part();
          } else {
            --token->value;
            so_5::send(next_, std::move(token));
          }
        })
        .event([this](so_5::mhood_t<Begin> begin) { next_ = begin->peers.front(); });
  }

  Finish* finish_;
  so_5::mbox_t next_;
};

Measurement RunRing(const System& system, const Params& params) {
  const std::int64_t size = params["size"];
  const std::int64_t tokens = params["tokens"];
  const std::int64_t hops = params["hops"] / tokens;
  Finish finish(tokens);
  std::vector<so_5::mbox_t> ring;
  const Cast cast(system, [&](so_5::coop_t& coop) {
    for (std::int64_t i = 0; i < size; ++i) {
      ring.push_back(coop.make_agent<Member>(&finish)->so_direct_mbox());
    }
  });
  for (std::size_t i = 0; i < ring.size(); ++i) {
    so_5::send<Begin>(ring[i], std::vector{ring[(i + 1) % ring.size()]}, 0);
  }
  const std::int64_t start = Now();
  for (std::int64_t i = 0; i < tokens; ++i) {
    so_5::send<so_5::mutable_msg<Number>>(ring[static_cast<std::size_t>(i * size / tokens)], hops);
  }
  return {hops * tokens, finish.Wait() - start};
}

}  // namespace

Workload Ring() {
  return {"ring",
          "hops of tokens around a ring",
          {{"size", 1000, 2, 1'000'000}, {"hops", 2'000'000}, {"tokens", 1, 1, 100'000}},
          RunRing};
}

}  // namespace ergon::bench::on_sobjectizer
