// A connection of HTTP that sends any bytes, for tests of servers.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <kit/eventually.h>

namespace ergon::kit {

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // by name in lower case
  std::string body;

  [[nodiscard]] std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

// To 127.0.0.1. Waits no longer than kDeadline for anything. A socket with such a limit gives up with EINTR when its
// thread has been stopped and goes on (signal(7)), so each call is made again then.
class HttpClient {
 public:
  // `receive_buffer`: bytes; 0: as the system likes it.
  explicit HttpClient(int port, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{kDeadline.count(), 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (receive_buffer != 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = TEMP_FAILURE_RETRY(::connect(
                        socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address)) == 0;
  }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient() { ::close(socket_); }

  [[nodiscard]] bool IsConnected() const { return is_connected_; }
  // False: the other side has ended the connection, or does not read.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent =
          TEMP_FAILURE_RETRY(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // An answer has begun to come; nothing of it is taken.
  [[nodiscard]] bool Begins() {
    char first = 0;
    return TEMP_FAILURE_RETRY(::recv(socket_, &first, 1, MSG_PEEK)) == 1;
  }
  // None: the connection has ended before there was one.
  std::optional<HttpAnswer> Read(bool has_body = true) {
    std::size_t end = 0;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!Receive()) return std::nullopt;
    }
    HttpAnswer answer = Parse(received_.substr(0, end));
    received_.erase(0, end + 4);
    if (!has_body) return answer;
    const std::string length = answer.Header("content-length");
    const std::size_t size = length.empty() ? 0 : std::stoul(length);
    while (received_.size() < size) {
      if (!Receive()) return std::nullopt;
    }
    answer.body = received_.substr(0, size);
    received_.erase(0, size);
    return answer;
  }
  // It ends without anything more.
  [[nodiscard]] bool Ends() { return !Receive() && !timed_out_ && received_.empty(); }

 private:
  bool Receive() {
    char buffer[16'384];
    const ssize_t size = TEMP_FAILURE_RETRY(::recv(socket_, buffer, sizeof buffer, 0));
    timed_out_ = size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (size <= 0) return false;
    received_.append(buffer, static_cast<std::size_t>(size));
    return true;
  }
  static HttpAnswer Parse(std::string_view head) {
    HttpAnswer answer;
    bool is_first = true;
    while (!head.empty()) {
      const std::string_view line = head.substr(0, head.find("\r\n"));
      head.remove_prefix(std::min(head.size(), line.size() + 2));
      if (std::exchange(is_first, false)) {
        answer.status = std::stoi(std::string(line.substr(9, 3)));
        continue;
      }
      const std::size_t colon = line.find(':');
      std::string name(line.substr(0, colon));
      for (char& byte : name) byte = static_cast<char>(std::tolower(byte));
      answer.headers[name] = line.substr(std::min(line.size(), colon + 2));
    }
    return answer;
  }

  const int socket_;
  bool is_connected_ = false;
  bool timed_out_ = false;
  std::string received_;
};

}  // namespace ergon::kit
