// What the processes send each other, and the names under which they find each other.
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include "image.h"
#include "traffic.h"

namespace thumbnails {

inline constexpr const char* kScalers = "scalers";
inline constexpr const char* kConnections = "connections";
inline constexpr const char* kListener = "listener";

// To a connection: this is yours. Messages are moved, so a socket may be part of one.
struct Accepted {
  boost::asio::ip::tcp::socket socket;
  bool is_one_too_many = false;  // its client is told so, and no more
  Counted counted;               // until the connection has ended
};

// To the scalers; they answer with the thumbnail.
struct Scale {
  using Reply = Image;
  Image image;
};

}  // namespace thumbnails
