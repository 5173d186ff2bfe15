#include <ergon/node/port.h>

#include <utility>

#include <ergon/node/port/port_process.h>

namespace ergon::node {

gen::ProcessFactory Port(PortOptions options) {
  return gen::Factory<PortProcess>(std::move(options));
}

}  // namespace ergon::node
