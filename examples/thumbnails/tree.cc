#include "tree.h"

#include "connection.h"
#include "listener.h"
#include "messages.h"
#include "scalers.h"

namespace thumbnails {

using namespace ergon;

namespace {

class Connections : public act::Supervisor {
 public:
  Connections(Options options, std::shared_ptr<Traffic> traffic)
      : options_(std::move(options)), traffic_(std::move(traffic)) {}

 private:
  gen::Result<act::SupervisorSpec> Init(const gen::Args&) override {
    return act::SupervisorSpec{
        .type = act::SupervisorType::kSimpleOneForOne,
        .children = {{.name = kConnections,
                      .factory = gen::Factory<Connection>(options_, traffic_),
                      .shutdown_timeout = gen::kInfinite}},  // each of its steps has a time-out
        .restart = {.strategy = act::SupervisorStrategy::kTemporary},
    };
  }

  const Options options_;
  const std::shared_ptr<Traffic> traffic_;
};

}  // namespace

gen::Result<act::SupervisorSpec> Root::Init(const gen::Args&) {
  return act::SupervisorSpec{
      .type = act::SupervisorType::kRestForOne,
      .children = {{.name = kScalers, .factory = gen::Factory<Scalers>(options_)},
                   {.name = kConnections,
                    .factory = gen::Factory<Connections>(options_, traffic_),
                    .shutdown_timeout = gen::kInfinite},
                   {.name = kListener, .factory = gen::Factory<Listener>(options_, traffic_)}},
  };
}

}  // namespace thumbnails
