#include "listener.h"

#include <chrono>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <boost/system/system_error.hpp>

#include <ergon/act/supervisor_requests.h>
#include <ergon/node/boost_await.h>

#include "messages.h"

namespace thumbnails {

using namespace ergon;
using namespace std::chrono_literals;
namespace net = boost::asio;
using net::ip::tcp;

namespace {

std::string WhatToDo(const boost::system::error_code& error) {
  if (error == net::error::address_in_use) {
    return "; somebody else does: choose another --port, or 0 for one that is free";
  }
  if (error == net::error::access_denied) return "; choose a --port from 1024 on";
  if (error == boost::system::errc::address_not_available) {
    return "; choose an --address of this machine, or 0.0.0.0 for all of them";
  }
  return "";
}

}  // namespace

gen::Status Listener::Init(const gen::Args&) {
  boost::system::error_code error;
  const auto address = net::ip::make_address(options_.address, error);
  if (error) {
    return gen::Stop(gen::Reason::Error(
        fmt::format("--address: \"{}\" is not an IP address", options_.address)));
  }
  // Clients know the port that was told, also after a restart.
  const std::uint16_t told = traffic_->port;
  const tcp::endpoint endpoint(address, told != 0 ? told : options_.port);
  try {
    acceptor_.emplace(node::BoostIoContext(Node()), endpoint);
  } catch (const boost::system::system_error& failure) {
    return gen::Stop(gen::Reason::Error(
        fmt::format("cannot listen at {} port {}: {}{}", options_.address, endpoint.port(),
                    failure.code().message(), WhatToDo(failure.code()))));
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
    auto socket = acceptor_->async_accept(node::BoostAwaitOrStop(*acceptor_));
    if (!socket && socket.error() == net::error::operation_aborted) return;
    if (!socket) {
      Log().Warning("accept: {}", socket.error().message());  // no file descriptor left, say
      if (!Sleep(100ms)) return;
      continue;
    }
    Start(std::move(*socket));
  }
}

void Listener::Start(tcp::socket socket) {
  const bool is_one_too_many = traffic_->open >= options_.connections;
  // So many are being refused that this one is closed without a word.
  if (is_one_too_many && traffic_->refusing >= options_.connections) return;
  const gen::ProcessID connections{kConnections, Node().Name()};
  // Without a time-out: who starts later would wait for its socket for ever.
  const auto connection =
      Call(connections, act::StartChildRequest{.name = kConnections}, {.timeout = gen::kInfinite});
  if (!connection) {
    Log().Warning("a connection is refused: {}", connection.error());
    return;
  }
  auto& counter = is_one_too_many ? traffic_->refusing : traffic_->open;
  // One that has ended meanwhile has been told to, and so has this process.
  (void)Send(*connection, Accepted{std::move(socket), is_one_too_many, Count(traffic_, counter)});
}

}  // namespace thumbnails
