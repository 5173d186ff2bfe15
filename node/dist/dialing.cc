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
#include <asio/co_spawn.hpp>
#include <asio/connect.hpp>
#include <asio/detached.hpp>
#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/node/dist/challenge.h>
#include <ergon/node/dist/epmd.h>

namespace ergon::dist {
namespace {

gen::Error NoConnection(std::string text) {
  return gen::Error(gen::ErrorCode::kNoConnection, std::move(text));
}

asio::awaitable<void> ConnectSocket(asio::io_context& context, Stream& stream,
                                    const std::string& host, std::uint16_t port) {
  asio::ip::tcp::resolver resolver(context);
  const auto endpoints =
      co_await resolver.async_resolve(host, std::to_string(port), asio::use_awaitable);
  co_await asio::async_connect(stream.socket(), endpoints, asio::use_awaitable);
}

// What EPMD on `host` knows of a node.
asio::awaitable<gen::Result<EpmdNode>> LookUp(asio::io_context& context, Stream& epmd,
                                              const std::string& host, std::uint16_t port,
                                              const std::string& alive) {
  co_await ConnectSocket(context, epmd, host, port);
  co_await epmd.Write(EpmdLookUp(alive));
  std::string answer;
  std::array<char, 1024> some{};
  for (;;) {
    std::size_t got = 0;
    try {
      got = co_await epmd.ReadSome(some.data(), some.size());
    } catch (const std::system_error& error) {
      if (error.code() != asio::error::eof) throw;
    }
    if (got == 0) co_return NoConnection("EPMD has closed the connection without an answer");
    answer.append(some.data(), got);
    auto parsed = ParseLookUp(answer, alive);
    if (!parsed) co_return std::move(parsed.error());
    if (*parsed) co_return **parsed;
  }
}

asio::awaitable<gen::Result<void>> DialNow(asio::io_context& context, const Settings& settings,
                                           std::shared_ptr<Connection> connection) {
  const std::string peer = connection->peer().ToString();
  auto stream = std::make_unique<Stream>(context);
  std::string step;
  auto connected = co_await ConnectTo(context, settings, peer, *stream, step);
  if (!connected) co_return connected;
  step = "the handshake with " + peer;
  bool expired = false;
  gen::Result<HandshakePeer> found = gen::ErrNoConnection;
  {
    const TimeLimit limit(context, settings.handshake_timeout, [&] {
      expired = true;
      stream->Close();
    });
    found = co_await ShakeHands(*stream,
                                Handshake::Initiator(settings.Self(), peer, RandomChallenge()));
  }
  if (expired) co_return NoConnection(step + " takes too long");
  if (!found) {
    if (found.error() != gen::ErrTaken) co_return std::move(found.error());
    // The peer dials us at the same time and goes on with that: it will attach itself.
    asio::steady_timer wait(context);
    wait.expires_after(
        std::chrono::duration_cast<asio::steady_timer::duration>(settings.handshake_timeout));
    co_await wait.async_wait(asio::use_awaitable);
    co_return std::move(found.error());
  }
  connection->Attach(std::move(stream), *found);
  co_return gen::Result<void>();
}

}  // namespace

asio::awaitable<gen::Result<void>> ConnectTo(asio::io_context& context, const Settings& settings,
                                             const std::string& peer, Stream& stream,
                                             std::string& step) {
  const std::size_t at = peer.find('@');
  if (at == std::string::npos || at == 0 || at + 1 == peer.size()) {
    co_return NoConnection(fmt::format("'{}' is no name of a node, as in name@host", peer));
  }
  const std::string alive = peer.substr(0, at);
  const std::string host = peer.substr(at + 1);
  Stream epmd(context);
  bool expired = false;
  const TimeLimit limit(context, settings.handshake_timeout, [&] {
    expired = true;
    epmd.Close();
    stream.Close();
  });
  try {
    step = fmt::format("asking EPMD at {}:{} for '{}'", host, settings.epmd_port, alive);
    const auto node = co_await LookUp(context, epmd, host, settings.epmd_port, alive);
    epmd.Close();
    if (!node) co_return node.error();
    step = fmt::format("connecting to {}:{}", host, node->port);
    co_await ConnectSocket(context, stream, host, node->port);
    if (settings.tls != nullptr) {
      step = fmt::format("TLS with {}:{}", host, node->port);
      co_await stream.StartTls(*settings.tls, false, host);
    }
  } catch (const std::system_error& error) {
    co_return NoConnection(
        fmt::format("{}: {}", step, expired ? "it takes too long" : error.what()));
  }
  co_return gen::Result<void>();
}

asio::awaitable<gen::Result<HandshakePeer>> ShakeHands(Stream& stream, Handshake handshake) {
  std::vector<std::string> to_send;
  try {
    std::string begin = handshake.Begin();
    if (!begin.empty()) co_await stream.WritePacket(begin);
    while (!handshake.peer()) {
      const std::string packet = co_await stream.ReadPacket();
      to_send.clear();
      const auto taken = handshake.Take(packet, to_send);
      for (const std::string& answer : to_send) co_await stream.WritePacket(answer);
      if (!taken) co_return taken.error();
    }
  } catch (const std::system_error& error) {
    if (error.code() == asio::error::eof || error.code() == asio::error::connection_reset) {
      co_return handshake.ClosedByPeer();
    }
    co_return NoConnection(error.what());
  } catch (const std::exception& error) {
    co_return NoConnection(error.what());
  }
  co_return *handshake.peer();
}

void Dial(asio::io_context& context, const Settings& settings,
          const std::shared_ptr<Connection>& connection) {
  // Posted: the caller may hold locks, or be on this thread.
  asio::post(context, [&context, &settings, connection] {
    asio::co_spawn(context, DialNow(context, settings, connection),
                   [connection](const std::exception_ptr& problem, gen::Result<void> dialled) {
                     if (problem) {
                       try {
                         std::rethrow_exception(problem);
                       } catch (...) {
                         connection->FailToConnect(core::ThrownText());
                       }
                     } else if (!dialled) {
                       connection->FailToConnect(dialled.error().ToString());
                     }
                   });
  });
}

}  // namespace ergon::dist
