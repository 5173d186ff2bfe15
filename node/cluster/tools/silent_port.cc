#include <ergon/node/cluster/tools/silent_port.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ergon/gen/error.h>

namespace ergon::dist {
namespace {

constexpr int kMostConnections = 1;  // that wait, as many as a tool makes

gen::Error Cannot(const std::string& address, std::uint16_t port, const char* why) {
  return gen::Error(gen::ErrorCode::kIncorrect,
                    fmt::format("cannot listen at {} port {}: {}", address, port, why));
}

}  // namespace

gen::Result<SilentPort> SilentPort::Open(const std::string& address, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int problem = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (problem != 0) return Cannot(address, port, ::gai_strerror(problem));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> place(found, &::freeaddrinfo);
  SilentPort opened(::socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;  // also where the connections of the one before are not forgotten
  if (opened.socket_ < 0 ||
      ::setsockopt(opened.socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      ::bind(opened.socket_, place->ai_addr, place->ai_addrlen) != 0 ||
      ::listen(opened.socket_, kMostConnections) != 0) {
    return Cannot(address, port, std::strerror(errno));
  }
  return opened;
}

SilentPort::SilentPort(SilentPort&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

SilentPort::~SilentPort() {
  if (socket_ >= 0) ::close(socket_);
}

}  // namespace ergon::dist
