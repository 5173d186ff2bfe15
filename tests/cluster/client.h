// Who connects to a node from the outside, byte by byte.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

#include <doctest/doctest.h>
#include <poll.h>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>

#include <ergon/node/cluster/connection/dialing.h>
#include <ergon/node/cluster/connection/stream.h>
#include <ergon/node/cluster/handshake/challenge.h>
#include <ergon/node/cluster/handshake/handshake.h>

#include <kit/eventually.h>

namespace ergon::dist {

// What a visible node of OTP 25 says that it understands, as seen on the wire. It has no flag of ours, so that it gets
// all that Erlang gets, and nothing else.
inline constexpr std::uint64_t kErlangFlags = 0xd'07df'7fbd;
static_assert((kErlangFlags & kFlagsNeeded) == kFlagsNeeded);
static_assert((kErlangFlags & (kFlagErgon | kFlagPacks)) == 0);

// Who connects to a node without being one, and waits no longer than kDeadline for what it sends.
class Client {
 public:
  explicit Client(std::uint16_t port) : stream_(context_, tasks_) {
    stream_.socket().connect({asio::ip::make_address("127.0.0.1"), port});
  }
  // The node that has dialled next.
  explicit Client(asio::ip::tcp::acceptor& acceptor) : stream_(context_, tasks_) {
    REQUIRE_MESSAGE(IsReadableBy(Deadline(), acceptor.native_handle()), "no node has dialled");
    acceptor.accept(stream_.socket());
  }
  void Write(std::string_view bytes) {
    asio::error_code ignored;
    asio::write(stream_.socket(), asio::buffer(bytes), ignored);
  }
  // What comes next, at least one byte.
  [[nodiscard]] std::string Read() { return ReadAtMost(4096); }
  // Nothing has come, and the node has not closed the connection.
  [[nodiscard]] bool IsSilent() {
    char byte = 0;
    asio::error_code error;
    stream_.socket().non_blocking(true);
    (void)stream_.socket().read_some(asio::buffer(&byte, 1), error);
    stream_.socket().non_blocking(false);
    return error == asio::error::would_block;
  }
  // A packet of the handshake: with its length, which goes before it.
  void WritePacket(std::string_view packet) {
    std::string bytes(1, '\0');
    bytes += static_cast<char>(packet.size());
    Write(bytes += packet);
  }
  [[nodiscard]] std::string ReadPacket() {
    const std::string length = ReadExactly(2);
    return ReadExactly(static_cast<unsigned char>(length[0]) * std::size_t{256} +
                       static_cast<unsigned char>(length[1]));
  }
  // The node closes the connection by the deadline, whatever it sends before. No assertion, so for any thread.
  [[nodiscard]] bool IsClosed() {
    std::string ignored;
    return EndsAfter(ignored);
  }
  // Until the node closes the connection.
  [[nodiscard]] std::string ReadToTheEnd() {
    std::string bytes;
    REQUIRE_MESSAGE(EndsAfter(bytes), "the node has not closed the connection");
    return bytes;
  }
  // Proves that it knows the cookie.
  [[nodiscard]] bool ShakeHands(const std::string& name, const std::string& peer,
                                std::uint64_t flags = kOwnFlags) {
    bool done = false;
    tasks_.Start([&] {
      done = dist::ShakeHands(stream_,
                              Handshake::Initiator({name, "secret", 77, flags}, peer, Challenge()))
                 .has_value();
    });
    context_.run();
    return done;
  }

  void Close() {
    asio::error_code ignored;
    stream_.socket().close(ignored);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static Clock::time_point Deadline() { return Clock::now() + kit::kDeadline; }

  // Something has come, or the connection has ended, by then.
  [[nodiscard]] static bool IsReadableBy(Clock::time_point end, int socket) {
    pollfd ready{socket, POLLIN, 0};
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      if (left.count() <= 0) return false;
      const int found = ::poll(&ready, 1, static_cast<int>(left.count()));
      if (found > 0) return true;
      if (found < 0 && errno != EINTR) return false;
    }
  }
  [[nodiscard]] bool IsReadableBy(Clock::time_point end) {
    return IsReadableBy(end, stream_.socket().native_handle());
  }
  // What is there, at most so many bytes.
  [[nodiscard]] std::string ReadNow(std::size_t most, asio::error_code& error) {
    std::string bytes(most, '\0');
    bytes.resize(stream_.socket().read_some(asio::buffer(bytes), error));
    return bytes;
  }
  // What comes next, at least one byte.
  [[nodiscard]] std::string ReadAtMost(std::size_t most) {
    REQUIRE_MESSAGE(IsReadableBy(Deadline()), "nothing comes from the node");
    asio::error_code error;
    std::string bytes = ReadNow(most, error);
    REQUIRE_MESSAGE(!error, error.message());
    return bytes;
  }
  [[nodiscard]] std::string ReadExactly(std::size_t size) {
    std::string bytes;
    while (bytes.size() < size) bytes += ReadAtMost(size - bytes.size());
    return bytes;
  }
  // Adds what comes until the node closes the connection. False: it has not by the deadline.
  [[nodiscard]] bool EndsAfter(std::string& bytes) {
    const Clock::time_point end = Deadline();
    asio::error_code error;
    while (!error) {
      if (!IsReadableBy(end)) return false;
      bytes += ReadNow(4096, error);
    }
    // What the node has not read before it closes, or what is sent to it afterwards, makes an error of the end.
    return error == asio::error::eof || error == asio::error::connection_reset ||
           error == asio::error::broken_pipe;
  }

  asio::io_context context_;
  Tasks tasks_{context_};
  Stream stream_;
};

// A port on which nobody listens. It is below those that Linux gives to whoever connects, one of which any other
// program could have got until a node listens there, and below those of the scripts' EPMDs.
inline std::uint16_t FreePort() {
  std::random_device random;
  std::uniform_int_distribution<std::uint16_t> ports(5'000, 7'999);
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor(context, asio::ip::tcp::v4());
  for (;;) {
    const std::uint16_t port = ports(random);
    asio::error_code error;
    acceptor.bind({asio::ip::make_address("127.0.0.1"), port}, error);
    if (!error) return port;
    if (error != asio::error::address_in_use) throw std::system_error(error);
  }
}

}  // namespace ergon::dist
