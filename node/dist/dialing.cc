#include <ergon/node/dist/dialing.h>

#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <asio/error.hpp>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/node/dist/challenge.h>
#include <ergon/node/dist/epmd.h>

namespace ergon::dist {
namespace {

gen::Error NoConnection(std::string text) {
  return gen::Error(gen::ErrorCode::kNoConnection, std::move(text));
}

// What EPMD on `host` knows of a node.
gen::Result<EpmdNode> LookUp(Stream& epmd, const std::string& host, std::uint16_t port,
                             const std::string& alive) {
  epmd.Connect(host, port);
  epmd.Write(EpmdLookUp(alive));
  std::string answer;
  std::array<char, 1024> some{};
  for (;;) {
    std::size_t got = 0;
    try {
      got = epmd.ReadSome(some.data(), some.size());
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

gen::Result<void> DialNow(asio::io_context& context, Tasks& tasks, const Settings& settings,
                          const std::string& peer, const std::function<bool()>& is_wanted,
                          std::shared_ptr<Stream>& stream, HandshakePeer& proved) {
  stream = std::make_shared<Stream>(context, tasks);
  auto connected = ConnectTo(context, tasks, settings, peer, *stream);
  if (!connected) return connected;
  const auto found = ShakeHandsWith(context, settings, settings.Self(), peer, *stream, is_wanted);
  if (!found) {
    // The peer dials us at the same time and goes on with that: it will attach itself.
    if (found.error() == gen::ErrTaken && is_wanted()) tasks.Sleep(settings.handshake_timeout);
    return found.error();
  }
  proved = *found;
  return gen::Result<void>();
}

}  // namespace

gen::Result<void> ConnectTo(asio::io_context& context, Tasks& tasks, const Settings& settings,
                            const std::string& peer, Stream& stream) {
  const std::size_t at = peer.find('@');
  if (at == std::string::npos || at == 0 || at + 1 == peer.size()) {
    return NoConnection(fmt::format("'{}' is no name of a node, as in name@host", peer));
  }
  const std::string alive = peer.substr(0, at);
  const std::string host = peer.substr(at + 1);
  Stream epmd(context, tasks);
  std::string step;  // for the text of an error
  const TimeLimit limit(context, settings.handshake_timeout, [&] {
    epmd.Close();
    stream.Close();
  });
  try {
    step = fmt::format("asking EPMD at {}:{} for '{}'", host, settings.epmd_port, alive);
    const auto node = LookUp(epmd, host, settings.epmd_port, alive);
    epmd.Close();
    if (!node) return node.error();
    step = fmt::format("connecting to {}:{}", host, node->port);
    stream.Connect(host, node->port);
    if (settings.tls != nullptr) {
      step = fmt::format("TLS with {}:{}", host, node->port);
      stream.StartTls(*settings.tls, false, host);
    }
  } catch (const std::system_error& error) {
    return NoConnection(
        fmt::format("{}: {}", step, limit.expired() ? "it takes too long" : error.what()));
  }
  return gen::Result<void>();
}

gen::Result<HandshakePeer> ShakeHandsWith(asio::io_context& context, const Settings& settings,
                                          HandshakeSelf self, const std::string& peer,
                                          Stream& stream, std::function<bool()> is_wanted) {
  const TimeLimit limit(context, settings.handshake_timeout, [&] { stream.Close(); });
  auto found = ShakeHands(
      stream, Handshake::Initiator(std::move(self), peer, RandomChallenge(), std::move(is_wanted)));
  if (!limit.expired()) return found;
  return NoConnection(fmt::format("the handshake with {} takes too long", peer));
}

gen::Result<HandshakePeer> ShakeHands(Stream& stream, Handshake handshake) {
  std::vector<std::string> to_send;
  try {
    std::string begin = handshake.Begin();
    if (!begin.empty()) stream.WritePacket(begin);
    while (!handshake.peer()) {
      const std::string packet = stream.ReadPacket();
      to_send.clear();
      const auto taken = handshake.Take(packet, to_send);
      for (const std::string& answer : to_send) stream.WritePacket(answer);
      if (!taken) return taken.error();
    }
  } catch (const std::system_error& error) {
    if (error.code() == asio::error::eof || error.code() == asio::error::connection_reset) {
      return handshake.ClosedByPeer();
    }
    return NoConnection(error.what());
  } catch (const std::exception& error) {
    return NoConnection(error.what());
  }
  return *handshake.peer();
}

void Dial(asio::io_context& context, Tasks& tasks, const Settings& settings, std::string peer,
          DialResult result) {
  tasks.Start([&context, &tasks, &settings, peer = std::move(peer), result = std::move(result)] {
    std::string why;
    try {
      if (const auto pause = result.pause(); pause > pause.zero()) tasks.Sleep(pause);
      if (result.is_wanted()) {
        std::shared_ptr<Stream> stream;
        HandshakePeer proved;
        const auto dialled =
            DialNow(context, tasks, settings, peer, result.is_wanted, stream, proved);
        if (dialled) {
          result.succeeded(std::move(stream), proved);
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
  });
}

}  // namespace ergon::dist
