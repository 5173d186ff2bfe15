#include <ergon/node/trace_file.h>

#include <ergon/node/runtime/runtime.h>

namespace ergon::node {

gen::Result<std::shared_ptr<TraceFile>> TraceTo(gen::Node& node, const std::string& path,
                                                const TraceFileOptions& options) {
  return RuntimeOf(node, "TraceTo").TraceTo(path, options);
}

}  // namespace ergon::node
