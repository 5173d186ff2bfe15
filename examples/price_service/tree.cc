#include "tree.h"

#include "administration.h"
#include "catalog.h"
#include "messages.h"
#include "prices.h"
#include "systemd.h"

namespace price_service {

using namespace ergon;

gen::Result<act::SupervisorSpec> Root::Init(const gen::Args&) {
  return act::SupervisorSpec{
      .type = act::SupervisorType::kRestForOne,
      .children = {{.name = kCatalog, .factory = gen::Factory<Catalog>()},
                   {.name = kPrices, .factory = gen::Factory<Prices>(options_.prices)},
                   {.name = kAdministration,
                    .factory = gen::Factory<Administration>(options_.http_port)},
                   {.name = kSystemd, .factory = gen::Factory<Systemd>()}},
      .restart = {.strategy = act::SupervisorStrategy::kPermanent, .intensity = 5, .period_s = 10},
  };
}

}  // namespace price_service
