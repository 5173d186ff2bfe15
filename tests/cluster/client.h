// Who connects to a node from the outside, byte by byte.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

#include <doctest/doctest.h>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include <ergon/node/cluster/connection/dialing.h>
#include <ergon/node/cluster/connection/stream.h>
#include <ergon/node/cluster/handshake/challenge.h>
#include <ergon/node/cluster/handshake/handshake.h>

namespace ergon::dist {

// What a visible node of OTP 25 says that it understands, as seen on the wire. It has no flag of ours, so that it gets
// all that Erlang gets, and nothing else.
inline constexpr std::uint64_t kErlangFlags = 0xd'07df'7fbd;
static_assert((kErlangFlags & kFlagsNeeded) == kFlagsNeeded);
static_assert((kErlangFlags & (kFlagErgon | kFlagPacks)) == 0);

// Who connects to a node without being one.
class Client {
 public:
  explicit Client(std::uint16_t port) : stream_(context_, tasks_) {
    stream_.socket().connect({asio::ip::make_address("127.0.0.1"), port});
  }
  // The node that has dialled next.
  explicit Client(asio::ip::tcp::acceptor& acceptor) : stream_(context_, tasks_) {
    acceptor.accept(stream_.socket());
  }
  void Write(std::string_view bytes) {
    asio::error_code ignored;
    asio::write(stream_.socket(), asio::buffer(bytes), ignored);
  }
  // What comes next, at least one byte.
  [[nodiscard]] std::string Read() {
    std::string bytes(4096, '\0');
    asio::error_code error;
    bytes.resize(stream_.socket().read_some(asio::buffer(bytes), error));
    REQUIRE_FALSE(error);
    return bytes;
  }
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
    unsigned char length[2];
    asio::read(stream_.socket(), asio::buffer(length));
    std::string packet(static_cast<std::size_t>(length[0] * 256 + length[1]), '\0');
    asio::read(stream_.socket(), asio::buffer(packet));
    return packet;
  }
  // Until the node closes the connection.
  [[nodiscard]] bool IsClosed() {
    (void)ReadToTheEnd();
    return true;
  }
  [[nodiscard]] std::string ReadToTheEnd() {
    asio::error_code error;
    std::string bytes;
    for (char byte = 0; asio::read(stream_.socket(), asio::buffer(&byte, 1), error) == 1;) {
      bytes.push_back(byte);
    }
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
