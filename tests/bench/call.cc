// Requests made in handlers, with the default time-out.
#include <bench/workload.h>
#include <ergon/act/actor.h>

namespace ergon::bench {
namespace {

class Server final : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    return gen::Reply(*request.As<Number>());
  }
};

class Caller final : public act::Actor {
 public:
  explicit Caller(Finish* finish) : finish_(finish) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const Start start = *message.As<Start>();
    for (std::int64_t i = 0; i < start.count; ++i) {
      auto answer = Call<Number>(start.peer, Number{i});
      Must(answer);
      if (answer->value != i) throw std::runtime_error("call: another's answer");
    }
    finish_->Part();
    return gen::Continue();
  }

  Finish* finish_;
};

Measurement Run(gen::Node& node, std::int64_t callers, std::int64_t n) {
  Finish finish(node, callers);
  Cast cast(node);
  const gen::PID server = cast.Spawn(gen::Factory<Server>());
  std::vector<gen::PID> clients;
  for (std::int64_t i = 0; i < callers; ++i) {
    clients.push_back(cast.Spawn(gen::Factory<Caller>(&finish)));
  }
  const std::int64_t start = Now();
  for (const gen::PID client : clients) Must(node.Send(client, Start{server, n}));
  return {callers * n, finish.Wait() - start};
}

}  // namespace

Workload Call() {
  return {"call",
          "sequential calls in a handler",
          {{"n", 500'000}},
          [](gen::Node& node, const Params& params) { return Run(node, 1, params["n"]); }};
}

Workload CallMany() {
  return {"call_many",
          "many processes that call one",
          {{"callers", 1000, 1, 30'000}, {"n", 500}},
          [](gen::Node& node, const Params& params) {
            return Run(node, params["callers"], params["n"]);
          }};
}

}  // namespace ergon::bench
