// What the processes send each other, and the names under which they find each other.
#pragma once

#include <string>

#include <asio/ip/tcp.hpp>

namespace line_server {

inline constexpr const char* kAnswerers = "answerers";
inline constexpr const char* kConnections = "connections";
inline constexpr const char* kListener = "listener";

// To a connection: this is yours. Messages are moved, so a socket may be part of one.
struct Accepted {
  asio::ip::tcp::socket socket;
};

// To the answerers: a request, without its newline. The answer has none either.
struct Line {
  using Reply = std::string;
  std::string text;
};

}  // namespace line_server
