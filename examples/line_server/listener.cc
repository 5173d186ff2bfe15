#include "listener.h"

#include <chrono>
#include <string>
#include <system_error>

#include <fmt/core.h>

#include <ergon/act/supervisor_requests.h>
#include <ergon/node/await.h>

#include "messages.h"

namespace line_server {

using namespace ergon;
using namespace std::chrono_literals;
using asio::ip::tcp;

namespace {

void Refuse(tcp::socket& socket, const std::string& why) {
  std::error_code ignored;  // it is gone either way
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer("error: " + why + "\n"), ignored);
}

}  // namespace

gen::Status Listener::Init(const gen::Args&) {
  std::error_code error;
  const auto address = asio::ip::make_address(options_.address, error);
  if (error) {
    return gen::Stop(gen::Reason::Error(
        fmt::format("--address: \"{}\" is not an IP address", options_.address)));
  }
  // Clients know the port that was told, also after a restart.
  const std::uint16_t told = traffic_->port;
  const tcp::endpoint endpoint(address, told != 0 ? told : options_.port);
  acceptor_ = std::make_unique<tcp::acceptor>(node::IoContext(Node()));
  acceptor_->open(endpoint.protocol(), error);
  if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_->bind(endpoint, error);
  if (!error) acceptor_->listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return gen::Stop(gen::Reason::Error(fmt::format(
        "cannot listen at {} port {}: {}", options_.address, endpoint.port(), error.message())));
  }
  traffic_->port = acceptor_->local_endpoint().port();
  (void)Send(Self(), Accept{});
  return gen::Continue();
}

gen::Status Listener::HandleMessage(gen::PID from, gen::Message& message) {
  if (!message.Is<Accept>()) return Actor::HandleMessage(from, message);
  AcceptAll();
  return gen::Continue();
}

void Listener::AcceptAll() {
  for (;;) {
    auto socket = acceptor_->async_accept(node::AwaitOrStop());
    if (socket) {
      Start(std::move(*socket));
    } else if (socket.error() == asio::error::operation_aborted) {
      return;
    } else {
      Log().Warning("accept: {}", socket.error().message());  // no file descriptor left, say
      if (!Sleep(100ms)) return;
    }
  }
}

void Listener::Start(tcp::socket socket) {
  if (traffic_->open >= options_.connections) {
    ++traffic_->refused;
    return Refuse(socket, "there are too many connections");
  }
  const gen::ProcessID connections{kConnections, Node().Name()};
  // Without a time-out: who starts later would wait for its socket for ever.
  const auto connection =
      Call(connections, act::StartChildRequest{.name = kConnections}, {.timeout = gen::kInfinite});
  if (!connection) return Refuse(socket, connection.error().ToString());
  ++traffic_->accepted;
  ++traffic_->open;
  (void)Send(*connection, Accepted{std::move(socket)});  // one that has ended has counted itself
}

}  // namespace line_server
