#include <ergon/node/awaiting.h>

#include <ergon/node/runtime/runtime.h>

namespace ergon::node {

OtherIo& OtherIoOf(gen::Node& node, MakeOtherIo make) {
  return RuntimeOf(node, "BoostIoContext").Io().Other(make);
}

}  // namespace ergon::node
