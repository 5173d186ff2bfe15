#include <ergon/node/await.h>

#include <ergon/node/runtime/runtime.h>

namespace ergon::node {

asio::io_context& IoContext(gen::Node& node) { return RuntimeOf(node, "IoContext").Io().context(); }

}  // namespace ergon::node
