#include "tree.h"

#include <chrono>

#include "answers.h"
#include "connection.h"
#include "listener.h"
#include "messages.h"

namespace line_server {

using namespace ergon;
using namespace std::chrono_literals;

namespace {

class Connections : public act::Supervisor {
 public:
  Connections(std::shared_ptr<Traffic> traffic, std::chrono::nanoseconds idle)
      : traffic_(std::move(traffic)), idle_(idle) {}

 private:
  gen::Result<act::SupervisorSpec> Init(const gen::Args&) override {
    return act::SupervisorSpec{
        .type = act::SupervisorType::kSimpleOneForOne,
        .children = {{.name = kConnections,
                      .factory = gen::Factory<Connection>(traffic_, idle_),
                      .shutdown_timeout = 2s}},
        .restart = {.strategy = act::SupervisorStrategy::kTemporary},
    };
  }

  const std::shared_ptr<Traffic> traffic_;
  const std::chrono::nanoseconds idle_;
};

}  // namespace

gen::Result<act::SupervisorSpec> Root::Init(const gen::Args&) {
  const auto idle = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(options_.idle));
  return act::SupervisorSpec{
      .type = act::SupervisorType::kRestForOne,
      .children = {{.name = kAnswerers, .factory = gen::Factory<Answerers>()},
                   {.name = kConnections,
                    .factory = gen::Factory<Connections>(traffic_, idle),
                    .shutdown_timeout = gen::kInfinite},
                   {.name = kListener, .factory = gen::Factory<Listener>(options_, traffic_)}},
  };
}

}  // namespace line_server
