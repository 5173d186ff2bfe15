// Takes connections of other nodes, and lets those in that know the cookie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include <ergon/gen/log.h>
#include <ergon/node/dist/connections.h>
#include <ergon/node/dist/log_limit.h>
#include <ergon/node/dist/settings.h>
#include <ergon/node/dist/tasks.h>

namespace ergon::dist {

class Listening {
 public:
  Listening(asio::io_context& context, Tasks& tasks, const Settings& settings,
            Connections& connections, gen::LogSink& log)
      : context_(context),
        tasks_(tasks),
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
  void Accept();
  void LetIn(std::shared_ptr<Stream> stream);

  asio::io_context& context_;
  Tasks& tasks_;
  const Settings& settings_;
  Connections& connections_;
  gen::LogSink& log_;
  asio::ip::tcp::acceptor acceptor_;
  std::size_t handshakes_ = 0;  // that have not ended
  LogLimit not_let_in_lines_;
  LogLimit closed_lines_;
};

}  // namespace ergon::dist
