#include <ergon/gen/process_id.h>

namespace ergon::gen {

std::string ProcessID::ToString() const {
  return node.empty() ? fmt::format("'{}'", name) : fmt::format("<'{}'@{}>", name, node);
}

}  // namespace ergon::gen
