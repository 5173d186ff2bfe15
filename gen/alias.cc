#include <ergon/gen/alias.h>

namespace ergon::gen {

std::string Alias::ToString() const { return fmt::format("Alias#<{}.{}>", node, id); }

}  // namespace ergon::gen
