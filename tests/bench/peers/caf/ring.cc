// Tokens that go around a ring of actors.
#include <bench/peers/caf/workload.h>

namespace ergon::bench::on_caf {
namespace {

class Member final : public caf::event_based_actor {
 public:
  Member(caf::actor_config& config, Finish* finish)
      : caf::event_based_actor(config), finish_(finish) {}

 private:
  caf::behavior make_behavior() override {
    return {[this](std::int64_t token) {
              if (token == 0) {
                finish_->Part();
              } else {
                Tell(*this, next_, token - 1);
              }
            },
            [this](Begin, const caf::actor& next) { next_ = next; }};
  }
  void on_exit() override { next_ = nullptr; }  // or the ring would keep itself alive

  Finish* finish_;
  caf::actor next_;
};

Measurement RunRing(caf::actor_system& system, const Params& params) {
  const std::int64_t size = params["size"];
  const std::int64_t tokens = params["tokens"];
  const std::int64_t hops = params["hops"] / tokens;
  Finish finish(tokens);
  Cast cast(system);
  std::vector<caf::actor> ring;
  for (std::int64_t i = 0; i < size; ++i) ring.push_back(cast.Spawn<Member>(&finish));
  for (std::size_t i = 0; i < ring.size(); ++i) {
    TellToBegin(ring[i], ring[(i + 1) % ring.size()]);
  }
  const std::int64_t start = Now();
  for (std::int64_t i = 0; i < tokens; ++i) {
    TellFromNoActor(ring[static_cast<std::size_t>(i * size / tokens)], hops);
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

}  // namespace ergon::bench::on_caf
