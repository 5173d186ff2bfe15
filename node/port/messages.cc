#include <ergon/node/port/messages.h>

#include <cstring>

namespace ergon::node {

std::string PortExit::ToString() const {
  if (signal != 0) {
    const char* const name = sigabbrev_np(signal);  // null: of the real-time signals
    return "was ended by signal " +
           (name == nullptr ? std::to_string(signal) : "SIG" + std::string(name));
  }
  if (code >= 0) return "exited with status " + std::to_string(code);
  return "has ended with an unknown status";
}

}  // namespace ergon::node
