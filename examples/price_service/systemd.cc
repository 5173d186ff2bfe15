#include "systemd.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <ergon/act/pool_stats.h>

#include "messages.h"

namespace price_service {

using namespace ergon;

namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// One datagram. Zero, or the system's error.
int SendTo(const std::string& path, std::string_view text) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';  // of the abstract namespace
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  const auto sent = ::sendto(socket, text.data(), text.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), size);
  const int error = sent < 0 ? errno : 0;
  ::close(socket);
  return error;
}

}  // namespace

gen::Status Systemd::Init(const gen::Args&) {
  // The variables may be meant for a program that has started this one.
  const std::string watched = FromEnvironment("WATCHDOG_PID");
  const bool is_watched = watched.empty() || std::atoll(watched.c_str()) == ::getpid();
  const std::string period = is_watched ? FromEnvironment("WATCHDOG_USEC") : std::string();
  watchdog_ = std::chrono::microseconds(std::atoll(period.c_str()));
  if (watchdog_.count() > 0) {
    const auto ticks = SendEvery(Self(), LookAfterThem{}, watchdog_ / 3);
    if (!ticks) return gen::Stop(ticks.error());
  }
  Notify("READY=1");
  return gen::Continue();
}

gen::Status Systemd::HandleMessage(gen::PID from, gen::Message& message) {
  if (!message.Is<LookAfterThem>()) return Actor::HandleMessage(from, message);
  // Not because a timer runs, but because the pool answers: else systemd ends the program and starts it again.
  const auto stats = act::Stats(Process(), gen::Atom(kPrices), {.timeout = watchdog_ / 3});
  if (stats) {
    Notify("WATCHDOG=1");
  } else {
    Log().Error("the prices do not answer: {}", stats.error());
  }
  return gen::Continue();
}

// After a failure of its own it is started again, and the program goes on.
void Systemd::Terminate(const gen::Reason& reason) {
  if (!reason.IsFailure()) Notify("STOPPING=1");
}

void Systemd::Notify(const std::string& state) {
  const std::string path = FromEnvironment("NOTIFY_SOCKET");
  if (path.empty()) return;
  if (const int error = SendTo(path, state)) {
    Log().Error("systemd is not told {}: {}", state, std::strerror(error));
  }
}

}  // namespace price_service
