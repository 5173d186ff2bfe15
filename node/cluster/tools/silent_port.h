// A TCP port on which nothing is sent: clients that connect wait until the port is closed.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/gen/result.h>

namespace ergon::dist {

class SilentPort {
 public:
  // Listens at an address, in digits. If that fails it returns kIncorrect, with the address, the port and the system's
  // text.
  [[nodiscard]] static gen::Result<SilentPort> Open(const std::string& address, std::uint16_t port);
  ~SilentPort();
  SilentPort(SilentPort&& other) noexcept;
  SilentPort& operator=(SilentPort&&) = delete;

 private:
  explicit SilentPort(int socket) noexcept : socket_(socket) {}
  int socket_;  // the kernel takes the connections; -1: none
};

}  // namespace ergon::dist
