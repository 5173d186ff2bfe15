// Tokens that go around a ring of processes.
#include <bench/workload.h>
#include <ergon/act/actor.h>

namespace ergon::bench {
namespace {

class Member final : public act::Actor {
 public:
  explicit Member(Finish* finish) : finish_(finish) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (auto* token = message.As<Number>()) {
      if (token->value == 0) {
        finish_->Part();
      } else {
        Must(Send(next_, Number{token->value - 1}));
      }
    } else if (auto* start = message.As<Start>()) {
      next_ = start->peer;
    }
    return gen::Continue();
  }

  Finish* finish_;
  gen::PID next_;
};

Measurement Run(gen::Node& node, const Params& params) {
  const std::int64_t size = params["size"];
  const std::int64_t tokens = params["tokens"];
  const std::int64_t hops = params["hops"] / tokens;
  Finish finish(node, tokens);
  Cast cast(node);
  std::vector<gen::PID> ring;
  for (std::int64_t i = 0; i < size; ++i) {
    ring.push_back(cast.Spawn(gen::Factory<Member>(&finish)));
  }
  for (std::size_t i = 0; i < ring.size(); ++i) {
    Must(node.Send(ring[i], Start{ring[(i + 1) % ring.size()]}));
  }
  const std::int64_t start = Now();
  for (std::int64_t i = 0; i < tokens; ++i) {
    Must(node.Send(ring[static_cast<std::size_t>(i * size / tokens)], Number{hops}));
  }
  return {hops * tokens, finish.Wait() - start};
}

}  // namespace

Workload Ring() {
  return {"ring",
          "hops of tokens around a ring",
          {{"size", 1000, 2, 1'000'000}, {"hops", 2'000'000}, {"tokens", 1, 1, 100'000}},
          Run};
}

}  // namespace ergon::bench
