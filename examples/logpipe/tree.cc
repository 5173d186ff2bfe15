#include "tree.h"

#include <fmt/core.h>

#include "parsers.h"
#include "sources.h"
#include "writer.h"

namespace logpipe {

using namespace ergon;

gen::Result<act::SupervisorSpec> Root::Init(const gen::Args&) {
  act::SupervisorSpec spec{
      .type = act::SupervisorType::kOneForOne,
      .children = {{.name = kWriter,
                    .factory = gen::Factory<Writer>(options_, traffic_),
                    .options = {.mailbox_size = options_.queue},
                    .shutdown_timeout = gen::kInfinite},
                   {.name = kParsers,
                    .factory = gen::Factory<Parsers>(options_, traffic_),
                    .shutdown_timeout = gen::kInfinite}},
      .auto_shutdown = act::SupervisorAutoShutdown::kAllSignificant,
  };
  // Read once: one that has failed is not begun anew.
  act::SupervisorChildSpec source{.significant = true,
                                  .shutdown_timeout = gen::kInfinite,
                                  .strategy = act::SupervisorStrategy::kTemporary};
  for (std::size_t i = 0; i < options_.files.size(); ++i) {
    source.name = fmt::format("source {}", i + 1);
    source.factory = gen::Factory<FileSource>(options_.files[i], traffic_);
    source.options.init_timeout = gen::kInfinite;  // to open it may take long, as over a network
    spec.children.push_back(source);
  }
  if (options_.udp) {
    source.name = "source of datagrams";
    source.factory = gen::Factory<UdpSource>(options_, traffic_);
    spec.children.push_back(source);
  }
  return spec;
}

}  // namespace logpipe
