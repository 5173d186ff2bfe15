#include <ergon/node/await.h>

#include <stdexcept>

#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/node.h>

namespace ergon::node {

asio::io_context& IoContext(gen::Node& node) {
  if (auto* runtime = dynamic_cast<Runtime*>(&node)) return runtime->Io();
  if (auto* owner = dynamic_cast<Node*>(&node)) return owner->runtime_->Io();
  throw std::logic_error("IoContext: not a node that node::Start has made");
}

}  // namespace ergon::node
