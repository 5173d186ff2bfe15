// Accepts connections of other nodes, and admits the nodes that know the cookie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include <ergon/gen/log.h>
#include <ergon/gen/log_limit.h>
#include <ergon/node/cluster/connection/connections.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/connection/tasks.h>

namespace ergon::dist {

class Listening {
 public:
  // All of them outlive this.
  Listening(asio::io_context& context, Tasks& tasks, const Settings& settings,
            Connections& connections, gen::LogSink& log)
      : context_(context),
        tasks_(tasks),
        settings_(settings),
        connections_(connections),
        log_(log),
        acceptor_(context),
        later_(context) {}

  // Binds the port and returns it. Throws std::system_error.
  std::uint16_t Open();
  // -- the thread of the network --
  void Start();
  void Close();

 private:
  // A connection whose peer has not proved itself.
  struct Unproved {
    std::shared_ptr<Stream> stream;
    std::list<std::weak_ptr<Unproved>>::iterator place{};  // unless it is proved, or gave way
    bool is_proved = false;
    bool gave_way = false;  // to newer ones
  };

  void StartLater();
  void Accept();
  void TakeSocket(asio::ip::tcp::socket socket);
  // Closes the oldest unproved connection.
  void GiveWay();
  void LetIn(Unproved& peer);
  // Frees the place of an unproved connection.
  void Leave(Unproved& peer);
  HandshakeAnswer AnswerTo(std::string_view name);
  // Shakes hands. `claimed` is what the peer has claimed by the end of the handshake.
  gen::Result<HandshakePeer> Prove(Unproved& peer, std::optional<Connections::Claimed>& claimed);
  void Refuse(const std::string& address, const gen::Error& error);

  asio::io_context& context_;
  Tasks& tasks_;
  const Settings& settings_;
  Connections& connections_;
  gen::LogSink& log_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer later_;  // until Start is tried again
  // The connections whose handshakes have not ended, the oldest first. This list does not keep them alive: an entry
  // whose handshake could not begin for want of memory stays here until it is the oldest.
  std::list<std::weak_ptr<Unproved>> unproved_;
  gen::LogLimit not_let_in_lines_;
  gen::LogLimit taken_lines_;
  gen::LogLimit names_lines_;
  gen::LogLimit gave_way_lines_;
};

}  // namespace ergon::dist
