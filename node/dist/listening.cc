#include <ergon/node/dist/listening.h>

#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

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
  KeepFromChildren(acceptor_.native_handle());
  acceptor_.set_option(asio::ip::tcp::acceptor::reuse_address(true));
  acceptor_.bind(endpoint);
  acceptor_.listen();
  return acceptor_.local_endpoint().port();
}

void Listening::Start() {
  tasks_.Start([this] { Accept(); });
}

void Listening::Close() {
  asio::error_code ignored;
  acceptor_.close(ignored);
}

void Listening::Accept() {
  while (acceptor_.is_open()) {
    asio::ip::tcp::socket socket(context_);
    try {
      tasks_.Await([this] { Close(); },
                   [&](auto handler) { acceptor_.async_accept(socket, std::move(handler)); });
    } catch (const std::system_error&) {
      if (!acceptor_.is_open()) return;
      tasks_.Sleep(kAcceptPause);
      continue;
    }
    KeepFromChildren(socket.native_handle());
    // Whoever has not proved itself costs a socket for a bounded time, and there are not many of them.
    if (handshakes_ >= settings_.max_handshakes) {
      if (const auto more = closed_lines_.Take()) {
        gen::Log(log_).Warning(
            "network: a connection was closed: {} others have not ended their handshakes{}",
            handshakes_, *more);
      }
      continue;
    }
    auto stream = std::make_shared<Stream>(std::move(socket), tasks_);
    tasks_.Start([this, stream] {
      struct Counted {
        std::size_t& handshakes;
        explicit Counted(std::size_t& count) : handshakes(count) { ++handshakes; }
        ~Counted() { --handshakes; }
      } const counted(handshakes_);
      LetIn(stream);
    });
  }
}

void Listening::LetIn(std::shared_ptr<Stream> stream) {
  const std::string address = stream->PeerAddress();
  const TimeLimit limit(context_, settings_.handshake_timeout, [&] { stream->Close(); });
  std::string problem;
  gen::Result<HandshakePeer> found = gen::ErrNoConnection;
  std::string claimed;  // by whom
  try {
    if (settings_.tls != nullptr) stream->StartTls(*settings_.tls, true, "");
    found = ShakeHands(*stream,
                       Handshake::Acceptor(
                           settings_.Self(), RandomChallenge(),
                           [this](std::string_view peer) { return connections_.AnswerTo(peer); },
                           [this, &claimed](const HandshakePeer& peer) {
                             if (!connections_.Claim(peer)) return false;
                             claimed = peer.name;
                             return true;
                           }));
    if (!found) problem = found.error().ToString();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (limit.expired()) problem = "its handshake took too long";
  if (!problem.empty()) {
    stream->Close();
    if (!claimed.empty()) connections_.LoseClaim(claimed);
    // Of two attempts at once one ends so, as it should.
    if (!found && found.error() == gen::ErrTaken) {
      gen::Log(log_).Debug("network: {} was not let in: {}", address, problem);
    } else if (const auto more = not_let_in_lines_.Take()) {
      gen::Log(log_).Warning("network: {} was not let in: {}{}", address, problem, *more);
    }
    return;
  }
  connections_.Attach(std::move(stream), *found);
}

}  // namespace ergon::dist
