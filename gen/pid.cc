#include <ergon/gen/pid.h>

namespace ergon::gen {

std::string PID::ToString() const {
  return fmt::format("<{}.{}.{}>", node, id & 0xffffffffu, id >> 32);
}

}  // namespace ergon::gen
