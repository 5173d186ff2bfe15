#include <ergon/gen/ref.h>

namespace ergon::gen {

std::string Ref::ToString() const { return fmt::format("Ref#<{}.{}>", node, id); }

}  // namespace ergon::gen
