// A socket of somebody who means harm: it waits for nothing longer than a moment, and ends when it is told to.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <ergon/node/cluster/handshake/challenge.h>
#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/handshake/handshake.h>

namespace ergon::dist {

class HostileSocket {
 public:
  // Connects; see IsOpen. From when `stop` is true, all fails.
  HostileSocket(std::uint16_t port, const std::atomic<bool>& stop)
      : stop_(stop), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval moment{.tv_sec = 0, .tv_usec = 50'000};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof(moment));
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof(moment));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~HostileSocket() { ::close(fd_); }
  HostileSocket(const HostileSocket&) = delete;
  HostileSocket& operator=(const HostileSocket&) = delete;

  [[nodiscard]] bool IsOpen() const noexcept { return is_open_; }
  // Does not wait. What has come is forgotten.
  [[nodiscard]] bool IsClosedByPeer() const {
    char bytes[4096];
    for (;;) {
      const ssize_t count = ::recv(fd_, bytes, sizeof(bytes), MSG_DONTWAIT);
      if (count > 0) continue;
      return count == 0 || (errno != EAGAIN && errno != EINTR);
    }
  }
  // False: it is closed.
  bool Write(std::string_view bytes) { return WriteUntil(bytes, Clock::time_point::max()); }
  // False: nothing more is taken, or it is closed.
  bool WriteForAWhile(std::string_view bytes) {
    return WriteUntil(bytes, Clock::now() + std::chrono::milliseconds(200));
  }
  // Reads until that has come. False: it is closed.
  bool AwaitText(std::string_view text) {
    while (unread_.find(text) == std::string::npos) {
      if (!Read()) return false;
    }
    return true;
  }
  // Reads until a frame that has that in it has come, which is `frame` without its length. False: it is closed.
  bool AwaitFrame(std::string_view text, std::string& frame) {
    for (;;) {
      while (unread_.size() < 4 || unread_.size() < 4 + SizeAt(4)) {
        if (!Read()) return false;
      }
      frame = unread_.substr(4, SizeAt(4));
      unread_.erase(0, 4 + frame.size());
      if (frame.find(text) != std::string::npos) return true;
    }
  }
  // Reads until the node closes it. False: told to stop.
  bool AwaitEnd() {
    while (Read()) unread_.clear();
    return !stop_;
  }
  // False: it is not let in, or closed.
  bool ShakeHands(const std::string& name, const std::string& peer, const std::string& cookie) {
    Handshake handshake =
        Handshake::Initiator({name, cookie, 77, kOwnFlags & ~kFlagErgon}, peer, Challenge());
    if (!WritePacket(handshake.Begin())) return false;
    while (!handshake.peer()) {
      std::string packet;
      std::vector<std::string> to_send;
      if (!ReadPacket(packet)) return false;
      const auto taken = handshake.TakePacket(packet, to_send);
      for (const std::string& each : to_send) {
        if (!WritePacket(each)) return false;
      }
      if (!taken) return false;
    }
    return true;
  }

  // Says the name, and takes the challenge, of 4 bytes. False: it is refused, or closed.
  bool AskForChallenge(const std::string& name, std::string& challenge) {
    Handshake handshake =
        Handshake::Initiator({name, {}, 77, kOwnFlags & ~kFlagErgon}, name, Challenge());
    std::string packet;
    if (!WritePacket(handshake.Begin()) || !ReadPacket(packet)) return false;
    if (!packet.starts_with("sok") || !ReadPacket(packet) || packet.size() < 13) return false;
    challenge = packet.substr(9, 4);
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool WriteUntil(std::string_view bytes, Clock::time_point end) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
        continue;
      }
      if (stop_ || (errno != EAGAIN && errno != EINTR) || Clock::now() > end) return false;
    }
    return !stop_;
  }
  // More bytes. False: there will be none.
  bool Read() {
    char bytes[4096];
    for (;;) {
      const ssize_t count = ::recv(fd_, bytes, sizeof(bytes), 0);
      if (count > 0) {
        unread_.append(bytes, static_cast<std::size_t>(count));
        return true;
      }
      if (stop_ || count == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    }
  }
  // The number in the first `bytes` bytes that are unread.
  [[nodiscard]] std::size_t SizeAt(std::size_t bytes) const {
    std::size_t size = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      size = size << 8 | static_cast<unsigned char>(unread_[i]);
    return size;
  }
  bool WritePacket(std::string_view packet) {
    std::string bytes{static_cast<char>(packet.size() >> 8), static_cast<char>(packet.size())};
    return Write(bytes += packet);
  }
  bool ReadPacket(std::string& packet) {
    while (unread_.size() < 2 || unread_.size() < 2 + SizeAt(2)) {
      if (!Read()) return false;
    }
    packet = unread_.substr(2, SizeAt(2));
    unread_.erase(0, 2 + packet.size());
    return true;
  }

  const std::atomic<bool>& stop_;
  const int fd_;
  bool is_open_ = false;
  std::string unread_;
};

}  // namespace ergon::dist
