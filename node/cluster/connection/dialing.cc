#include <ergon/node/cluster/connection/dialing.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <asio/error.hpp>
#include <asio/ssl/error.hpp>

#include <ergon/core/foundations/thrown_text.h>

namespace ergon::dist {
namespace {

gen::Error NoConnection(std::string text) {
  return gen::Error(gen::ErrorCode::kNoConnection, std::move(text));
}

gen::Result<void> DialNow(DialAttempt& attempt, const Settings& settings, const DialResult& result,
                          HandshakePeer& proved) {
  auto connected = attempt.Connect();
  if (!connected) return connected;
  result.announced(true);
  auto found = attempt.ShakeHands(settings.Self());
  if (!found) {
    // The peer dials us at the same time and goes on with that: it will attach itself, or come again.
    if (found.error() == gen::ErrTaken && result.is_wanted()) {
      result.announced(false);
      attempt.Wait();
    }
    return std::move(found.error());
  }
  proved = std::move(*found);
  return gen::Result<void>();
}

}  // namespace

DialAttempt::DialAttempt(asio::io_context& context, Tasks& tasks, const Settings& settings,
                         std::string peer, std::function<bool()> is_wanted)
    : tasks_(tasks),
      settings_(settings),
      peer_(std::move(peer)),
      is_wanted_(std::move(is_wanted)),
      end_(std::chrono::steady_clock::now() + settings.handshake_timeout.Now()),
      lookup_(context, tasks, settings.lookups),
      epmd_(context, tasks),
      stream_(std::make_shared<Stream>(context, tasks)),
      limit_(context, settings.handshake_timeout.Now(), [this] {
        lookup_.Cancel();
        epmd_.Close();
        stream_->Close();
      }) {}

gen::Result<void> DialAttempt::CheckWanted() const {
  if (!is_wanted_ || is_wanted_()) return {};
  return NoConnection(fmt::format("{} has connected to this node meanwhile", peer_));
}

gen::Result<void> DialAttempt::Connect() {
  const std::size_t at = peer_.find('@');
  if (at == std::string::npos || at == 0 || at + 1 == peer_.size()) {
    return NoConnection(fmt::format("'{}' is no name of a node, as in name@host", peer_));
  }
  try {
    return TryToConnect(peer_.substr(0, at), peer_.substr(at + 1));
  } catch (const std::runtime_error& error) {  // std::system_error, and what StartTls throws
    return NoConnection(
        fmt::format("{}: {}", step_, limit_.expired() ? "it takes too long" : error.what()));
  }
}

gen::Result<void> DialAttempt::TryToConnect(const std::string& alive, const std::string& host) {
  step_ = fmt::format("looking up the host '{}'", host);
  const Addresses addresses = OfFamilyFirst(lookup_.Find(host), settings_.listen_address);
  limit_.Check();
  step_ = fmt::format("asking EPMD at {}:{} for '{}'", host, settings_.epmd_port, alive);
  const auto node = AskEpmd(addresses, alive);
  epmd_.Close();
  limit_.Check();
  if (!node) return node.error();
  if (auto wanted = CheckWanted(); !wanted) return wanted;
  step_ = fmt::format("connecting to {}:{}", host, node->port);
  stream_->Connect(addresses, node->port, TimeForOneOf(addresses));
  limit_.Check();
  if (settings_.tls != nullptr) {
    stream_->StartTls(*settings_.tls, false, host);
    limit_.Check();
  }
  return CheckWanted();
}

// An address where packets vanish leaves time for the others, at EPMD and at the node.
std::chrono::nanoseconds DialAttempt::TimeForOneOf(const Addresses& addresses) const {
  return settings_.handshake_timeout.Now() / (2 * std::max<std::size_t>(addresses.size(), 1));
}

gen::Result<EpmdNode> DialAttempt::AskEpmd(const Addresses& addresses, const std::string& alive) {
  epmd_.Connect(addresses, settings_.epmd_port, TimeForOneOf(addresses));
  limit_.Check();
  epmd_.Write(EpmdLookUp(alive));
  std::string answer;
  std::array<char, 1024> some{};
  for (;;) {
    std::size_t got = 0;
    try {
      got = epmd_.ReadSome(some.data(), some.size());
    } catch (const std::system_error& error) {
      if (error.code() != asio::error::eof) throw;
    }
    if (got == 0) return NoConnection("EPMD has closed the connection without an answer");
    answer.append(some.data(), got);
    auto parsed = ParseLookUp(answer, alive);
    if (!parsed) return std::move(parsed.error());
    if (*parsed) return **parsed;
  }
}

gen::Result<HandshakePeer> DialAttempt::ShakeHands(HandshakeSelf self) {
  auto found = dist::ShakeHands(
      *stream_, Handshake::Initiator(std::move(self), peer_, Challenge(), is_wanted_));
  if (!limit_.expired()) return found;
  return NoConnection(fmt::format("the handshake with {} takes too long", peer_));
}

void DialAttempt::Wait() {
  const auto left = end_ - std::chrono::steady_clock::now();
  if (left > left.zero()) tasks_.Sleep(left);
}

gen::Result<HandshakePeer> ShakeHands(Stream& stream, Handshake handshake) {
  std::vector<std::string> to_send;
  try {
    const std::string begin = handshake.Begin();
    if (!begin.empty()) stream.WritePackets({&begin, 1});
    while (!handshake.peer()) {
      const std::string packet = stream.ReadPacket();
      to_send.clear();
      const auto taken = handshake.TakePacket(packet, to_send);
      stream.WritePackets(to_send);  // together: one record of TLS, one packet
      if (!taken) return taken.error();
    }
  } catch (const std::system_error& error) {
    if (error.code() == asio::error::eof || error.code() == asio::error::connection_reset) {
      const gen::Error closed = handshake.ClosedByPeer();
      if (!stream.IsTls()) return closed;
      return gen::Error(closed.code(), std::string(closed.detail()) +
                                           "; or refuses this node's certificate, see its log");
    }
    // With TLS 1.3 the peer looks at this node's certificate when this node has ended its handshake.
    if (error.code().category() == asio::error::get_ssl_category()) {
      return NoConnection("TLS: " + TlsProblem(error, ""));
    }
    return NoConnection(error.what());
  } catch (const std::exception& error) {
    return NoConnection(error.what());
  }
  return *handshake.peer();
}

void DialAttempt::End() {
  stream_->EndSending();
  try {
    for (std::array<char, 1024> some{};;) (void)stream_->ReadSome(some.data(), some.size());
  } catch (const std::system_error&) {  // the end of the stream, or of the time
  }
  stream_->Close();
}

void Dial(asio::io_context& context, Tasks& tasks, const Settings& settings, std::string peer,
          DialResult result) {
  auto without_stack = [failed = result.failed] { failed(Tasks::kNoStack); };
  auto dial = [&context, &tasks, &settings, peer = std::move(peer), result = std::move(result)] {
    std::string why;
    try {
      if (const auto pause = result.pause(); pause > pause.zero()) tasks.Sleep(pause);
      if (result.is_wanted()) {
        DialAttempt attempt(context, tasks, settings, peer, result.is_wanted);
        HandshakePeer proved;
        const auto dialled = DialNow(attempt, settings, result, proved);
        if (dialled) {
          result.succeeded(attempt.stream(), proved);
          return;
        }
        why = dialled.error().ToString();
      } else {
        why = fmt::format("{} has connected to this node meanwhile", peer);
      }
    } catch (...) {
      why = core::ThrownText();
    }
    result.failed(why);
  };
  tasks.Start(std::move(dial), std::move(without_stack));
}

}  // namespace ergon::dist
