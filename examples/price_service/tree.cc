#include "tree.h"

#include "administration.h"
#include "catalog.h"
#include "messages.h"
#include "prices.h"
#include "systemd.h"

namespace price_service {

using namespace ergon;

namespace {

constexpr act::SupervisorRestart kRestart = {
    .strategy = act::SupervisorStrategy::kPermanent, .intensity = 5, .period_s = 10};

class Service : public act::Supervisor {
 public:
  explicit Service(Options options) : options_(std::move(options)) {}

 private:
  gen::Result<act::SupervisorSpec> Init(const gen::Args&) override {
    return act::SupervisorSpec{
        .type = act::SupervisorType::kRestForOne,
        .children = {{.name = kCatalog, .factory = gen::Factory<Catalog>()},
                     {.name = kPrices, .factory = gen::Factory<Prices>(options_.prices)},
                     {.name = kAdministration,
                      .factory = gen::Factory<Administration>(options_.http_port)}},
        .restart = kRestart,
    };
  }

  const Options options_;
};

}  // namespace

gen::Result<act::SupervisorSpec> Root::Init(const gen::Args&) {
  return act::SupervisorSpec{
      .type = act::SupervisorType::kOneForOne,
      .children = {{.name = kService,
                    .factory = gen::Factory<Service>(options_),
                    .shutdown_timeout = gen::kInfinite},
                   {.name = kSystemd, .factory = gen::Factory<Systemd>()}},
      .restart = kRestart,
  };
}

}  // namespace price_service
