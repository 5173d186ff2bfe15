// Takes connections of other nodes, and lets those in that know the cookie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include <ergon/gen/log.h>
#include <ergon/node/dist/connections.h>
#include <ergon/node/dist/settings.h>

namespace ergon::dist {

class Listening {
 public:
  Listening(asio::io_context& context, const Settings& settings, Connections& connections,
            gen::LogSink& log)
      : context_(context),
        settings_(settings),
        connections_(connections),
        log_(log),
        acceptor_(context) {}

  // Binds the port and returns it. Throws std::system_error.
  std::uint16_t Open();
  // -- the thread of the network --
  void Start();
  void Close();

 private:
  asio::awaitable<void> Accept();
  asio::awaitable<void> LetIn(std::unique_ptr<Stream> stream);

  asio::io_context& context_;
  const Settings& settings_;
  Connections& connections_;
  gen::LogSink& log_;
  asio::ip::tcp::acceptor acceptor_;
  std::size_t handshakes_ = 0;  // that have not ended
};

}  // namespace ergon::dist
