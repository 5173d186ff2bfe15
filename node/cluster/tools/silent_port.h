// A TCP port on which nothing is said: who connects waits, until it is closed.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/gen/result.h>

namespace ergon::dist {

class SilentPort {
 public:
  // Listens at an address, in digits. Returns kIncorrect, with the address, the port and the system's words, if that cannot
  // be had.
  [[nodiscard]] static gen::Result<SilentPort> Open(const std::string& address, std::uint16_t port);
  ~SilentPort();
  SilentPort(SilentPort&& other) noexcept;
  SilentPort& operator=(SilentPort&&) = delete;

 private:
  explicit SilentPort(int socket) noexcept : socket_(socket) {}
  int socket_;  // the kernel takes the connections; -1: none
};

}  // namespace ergon::dist
