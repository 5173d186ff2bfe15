#include <ergon/gen/event.h>

namespace ergon::gen {

std::string Event::ToString() const { return fmt::format("Event#<{}@{}>", name, node); }

}  // namespace ergon::gen
