#include <ergon/act/process_api.h>

#include <stdexcept>

namespace ergon::act {

void ProcessApi::ThrowNotStarted() {
  throw std::logic_error(
      "the process has not started: a constructor has no process yet, use it from Init on");
}

}  // namespace ergon::act
