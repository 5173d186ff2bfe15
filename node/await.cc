#include <ergon/node/await.h>

#include <ergon/node/runtime/runtime.h>

namespace ergon::node {

void RequireSameAsio(int version) { RequireSameVersion("Asio", ASIO_VERSION, version); }

asio::io_context& IoContext(gen::Node& node, int version) {
  RequireSameAsio(version);
  return RuntimeOf(node, "IoContext").Io().context();
}

}  // namespace ergon::node
