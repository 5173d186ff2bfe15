// Requests with a time-out, each made when the one before is answered.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <bench/peers/caf/workload.h>

namespace ergon::bench::on_caf {
namespace {

const Param kTimeout{"timeout_ms", 5000, 0, 1'000'000, "of each request; 0: none"};

Timeout TimeoutOf(const Params& params) {
  const std::int64_t milliseconds = params["timeout_ms"];
  if (milliseconds == 0) return caf::infinite;
  return Timeout(std::chrono::milliseconds(milliseconds));
}

class Server final : public caf::event_based_actor {
 public:
  using caf::event_based_actor::event_based_actor;

 private:
  caf::behavior make_behavior() override {
    return {[](std::int64_t number) { return number; }};
  }
};

class Caller final : public caf::event_based_actor {
 public:
  Caller(caf::actor_config& config, Finish* finish, Timeout timeout)
      : caf::event_based_actor(config), finish_(finish), timeout_(timeout) {}

 private:
  caf::behavior make_behavior() override {
    return {[this](Begin, const caf::actor& server, std::int64_t count) {
      server_ = server;
      left_ = count;
      AskAgain();
    }};
  }

  void AskAgain() {
    Ask(*this, server_, timeout_, left_)
        .await(
            [this](std::int64_t answer) {
              if (answer != left_) Fail("another's answer");
              if (--left_ > 0) {
                AskAgain();
              } else {
                server_ = nullptr;
                finish_->Part();
              }
            },
            [](const caf::error& error) { Fail(caf::to_string(error)); });
  }
  // A benchmark in which a call fails has no result.
  [[noreturn]] static void Fail(const std::string& problem) {
    std::fprintf(stderr, "ergon-bench-caf: call: %s\n", problem.c_str());
    std::_Exit(1);
  }

  Finish* finish_;
  const Timeout timeout_;
  caf::actor server_;
  std::int64_t left_ = 0;
};

Measurement RunCallers(caf::actor_system& system, const Params& params, std::int64_t callers) {
  const std::int64_t n = params["n"];
  Finish finish(callers);
  Cast cast(system);
  const caf::actor server = cast.Spawn<Server>();
  std::vector<caf::actor> clients;
  for (std::int64_t i = 0; i < callers; ++i)
    clients.push_back(cast.Spawn<Caller>(&finish, TimeoutOf(params)));
  const std::int64_t start = Now();
  for (const caf::actor& client : clients) TellToBegin(client, server, n);
  return {callers * n, finish.Wait() - start};
}

}  // namespace

Workload Call() {
  return {"call",
          "sequential requests of one actor",
          {{"n", 500'000}, kTimeout},
          [](caf::actor_system& system, const Params& params) {
            return RunCallers(system, params, 1);
          }};
}

Workload CallMany() {
  return {"call_many",
          "many actors with requests to one",
          {{"callers", 1000, 1, 30'000}, {"n", 500}, kTimeout},
          [](caf::actor_system& system, const Params& params) {
            return RunCallers(system, params, params["callers"]);
          }};
}

}  // namespace ergon::bench::on_caf
