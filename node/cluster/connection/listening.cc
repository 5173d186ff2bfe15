#include <ergon/node/cluster/connection/listening.h>

#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include <ergon/node/cluster/connection/dialing.h>

namespace ergon::dist {
namespace {
// Until accepting is tried again when there are no descriptors left, or no memory.
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::seconds kStartPause{5};
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
  tasks_.Start([this] { Accept(); }, [this] { StartLater(); });
}

// Until there is a place for its stack nobody is let in.
void Listening::StartLater() {
  if (!acceptor_.is_open()) return;
  gen::Log(log_).Error("network: nobody can connect yet: {}", Tasks::kNoStack);
  later_.expires_after(kStartPause);
  later_.async_wait([this](const asio::error_code& error) {
    if (!error) Start();
  });
}

void Listening::Close() {
  asio::error_code ignored;
  acceptor_.close(ignored);
  later_.cancel();
}

void Listening::Accept() {
  while (acceptor_.is_open()) {
    try {
      asio::ip::tcp::socket socket(context_);
      tasks_.Await([this] { Close(); },
                   [&](auto handler) { acceptor_.async_accept(socket, std::move(handler)); });
      KeepFromChildren(socket.native_handle());
      TakeSocket(std::move(socket));
    } catch (const std::exception&) {
      if (!acceptor_.is_open()) return;
      tasks_.Sleep(kAcceptPause);
    }
  }
}

// Whoever has not proved itself costs a socket for a bounded time, and there are not many of them. The newest one is
// let in: a peer that knows the cookie has proved it long before so many others have come.
void Listening::TakeSocket(asio::ip::tcp::socket socket) {
  // Several, when the limit has become a lower one.
  while (unproved_.size() >= settings_.max_handshakes.Now()) GiveWay();
  auto peer =
      std::make_shared<Unproved>(Unproved{std::make_shared<Stream>(std::move(socket), tasks_)});
  peer->place = unproved_.insert(unproved_.end(), peer);
  tasks_.Start([this, peer] { LetIn(*peer); },
               [this, peer] {
                 Leave(*peer);
                 const std::string address = peer->stream->PeerAddress();
                 peer->stream->Close();
                 if (peer->gave_way) return;
                 Refuse(address, gen::Error(gen::ErrorCode::kTooManyCalls, Tasks::kNoStack));
               });
}

void Listening::GiveWay() {
  const std::shared_ptr<Unproved> oldest = unproved_.front().lock();
  unproved_.pop_front();
  if (oldest == nullptr) return;
  oldest->gave_way = true;
  if (const auto more = gave_way_lines_.Take()) {
    gen::Log(log_).Warning(
        "network: {} was closed: it is the oldest one of {} that have not ended their handshakes{}",
        oldest->stream->PeerAddress(), settings_.max_handshakes.Now(), *more);
  }
  oldest->stream->Close();
}

void Listening::Leave(Unproved& peer) {
  if (!peer.is_proved && !peer.gave_way) unproved_.erase(peer.place);
}

void Listening::LetIn(Unproved& peer) {
  const std::string address = peer.stream->PeerAddress();
  std::optional<Connections::Claimed> claimed;
  auto found = Prove(peer, claimed);
  Leave(peer);
  if (found) {
    connections_.Attach(std::move(peer.stream), *found, *claimed);
    return;
  }
  peer.stream->Close();
  if (claimed) connections_.LoseClaim(*claimed);
  if (!peer.gave_way) Refuse(address, found.error());
}

HandshakeAnswer Listening::AnswerTo(std::string_view name) {
  if (connections_.IsOneTooMany(name)) {
    if (const auto more = names_lines_.Take()) {
      gen::Log(log_).Warning(
          "network: {} was refused: {} different node names have connected since the start, and "
          "names are never freed{}",
          name, settings_.max_peer_names, *more);
    }
  }
  return connections_.AnswerTo(name);
}

gen::Result<HandshakePeer> Listening::Prove(Unproved& peer,
                                            std::optional<Connections::Claimed>& claimed) {
  Stream& stream = *peer.stream;
  const TimeLimit limit(context_, settings_.handshake_timeout.Now(), [&] { stream.Close(); });
  gen::Result<HandshakePeer> found = gen::ErrNoConnection;
  try {
    if (settings_.tls != nullptr) stream.StartTls(*settings_.tls, true, "");
    found = ShakeHands(stream, Handshake::Acceptor(
                                   settings_.Self(), Challenge(),
                                   [this](std::string_view name) { return AnswerTo(name); },
                                   [&](const HandshakePeer& proved) {
                                     claimed = connections_.Claim(proved);
                                     if (!claimed) return false;
                                     Leave(peer);
                                     peer.is_proved = true;
                                     return true;
                                   }));
  } catch (const std::exception& error) {
    found = gen::Error(gen::ErrorCode::kNoConnection, error.what());
  }
  if (!limit.expired()) return found;
  return gen::Error(gen::ErrorCode::kTimeout, "its handshake took too long");
}

void Listening::Refuse(const std::string& address, const gen::Error& error) {
  // Of two attempts at once one ends so, as it should.
  if (error == gen::ErrTaken) {
    if (const auto more = taken_lines_.Take()) {
      gen::Log(log_).Debug("network: {} was not let in: {}{}", address, error.ToString(), *more);
    }
  } else if (const auto more = not_let_in_lines_.Take()) {
    gen::Log(log_).Warning("network: {} was not let in: {}{}", address, error.ToString(), *more);
  }
}

}  // namespace ergon::dist
