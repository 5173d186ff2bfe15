#include <ergon/node/dist/listening.h>

#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <ergon/node/dist/challenge.h>
#include <ergon/node/dist/dialing.h>

namespace ergon::dist {
namespace {
// Until accepting is tried again when there are no descriptors left.
constexpr std::chrono::milliseconds kAcceptPause{100};
}  // namespace

std::uint16_t Listening::Open() {
  const asio::ip::tcp::endpoint endpoint(settings_.listen_address, settings_.listen_port);
  acceptor_.open(endpoint.protocol());
  acceptor_.set_option(asio::ip::tcp::acceptor::reuse_address(true));
  acceptor_.bind(endpoint);
  acceptor_.listen();
  return acceptor_.local_endpoint().port();
}

void Listening::Start() { asio::co_spawn(context_, Accept(), asio::detached); }

void Listening::Close() {
  asio::error_code ignored;
  acceptor_.close(ignored);
}

asio::awaitable<void> Listening::Accept() {
  while (acceptor_.is_open()) {
    asio::error_code error;
    auto socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      if (!acceptor_.is_open()) co_return;
      asio::steady_timer pause(context_);
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(asio::use_awaitable);
      continue;
    }
    // Whoever has not proved itself costs a socket for a bounded time, and there are not many of them.
    if (handshakes_ >= settings_.max_handshakes) {
      gen::Log(log_).Warning(
          "network: a connection was closed: {} others have not ended their handshakes",
          handshakes_);
      continue;
    }
    ++handshakes_;
    asio::co_spawn(context_, LetIn(std::make_unique<Stream>(std::move(socket))),
                   [this](const std::exception_ptr&) { --handshakes_; });
  }
}

asio::awaitable<void> Listening::LetIn(std::unique_ptr<Stream> stream) {
  const std::string address = stream->PeerAddress();
  bool expired = false;
  const TimeLimit limit(context_, settings_.handshake_timeout, [&] {
    expired = true;
    stream->Close();
  });
  std::string problem;
  gen::Result<HandshakePeer> found = gen::ErrNoConnection;
  try {
    if (settings_.tls != nullptr) co_await stream->StartTls(*settings_.tls, true, "");
    found = co_await ShakeHands(*stream, Handshake::Acceptor(settings_.Self(), RandomChallenge(),
                                                             [this](std::string_view peer) {
                                                               return connections_.AnswerTo(peer);
                                                             }));
    if (!found) problem = found.error().ToString();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (expired) problem = "its handshake took too long";
  if (!problem.empty()) {
    stream->Close();
    gen::Log(log_).Warning("network: {} was not let in: {}", address, problem);
    co_return;
  }
  connections_.Attach(std::move(stream), *found);
}

}  // namespace ergon::dist
