#include "squares.h"

#include <limits>
#include <stdexcept>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/act/supervisor.h>
#include <ergon/gen/match_request.h>

using namespace ergon;

namespace {

class Worker : public act::Actor {
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    return gen::MatchRequest(
        request,
        [](const Square& square) {
          const long long result = static_cast<long long>(square.value) * square.value;
          // Whoever called gets the error at once, and the pool a new worker.
          if (result > std::numeric_limits<int>::max()) throw std::overflow_error("too large");
          return static_cast<int>(result);
        },
        // What nobody handles is answered with an error.
        [&](gen::Message& other) { return Actor::HandleCall(from, ref, other); });
  }
};

class Workers : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 4, .worker_factory = gen::Factory<Worker>()};
  }
};

class Root : public act::Supervisor {
  gen::Result<act::SupervisorSpec> Init(const gen::Args&) override {
    return act::SupervisorSpec{
        .type = act::SupervisorType::kOneForOne,
        .children = {{.name = "squares", .factory = gen::Factory<Workers>()}},
        .restart = {.strategy = act::SupervisorStrategy::kPermanent, .intensity = 5, .period_s = 5},
    };
  }
};

}  // namespace

gen::ApplicationSpec Squares() {
  return {.name = "squares",
          .description = "squares of numbers",
          .processes = {{.name = "squares_root", .factory = gen::Factory<Root>()}},
          .mode = gen::ApplicationMode::kPermanent};
}
