// Bytes to and from a peer, over TCP or TLS.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ssl/context.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/steady_timer.hpp>

namespace ergon::dist {

// Belongs to the thread of its context. What fails throws std::system_error; after Close everything does.
class Stream {
 public:
  explicit Stream(asio::io_context& context) : socket_(context) {}
  explicit Stream(asio::ip::tcp::socket socket) : socket_(std::move(socket)) {}

  [[nodiscard]] asio::ip::tcp::socket& socket() noexcept { return socket_; }
  // The peer's address, for people; empty: none.
  [[nodiscard]] std::string PeerAddress() const;

  // From here on the bytes are encrypted; both sides show certificates. `host` is the one that is to be in the peer's
  // certificate; empty: any.
  asio::awaitable<void> StartTls(asio::ssl::context& tls, bool is_server, const std::string& host);

  asio::awaitable<std::size_t> ReadSome(char* to, std::size_t size);
  // Small answers of EPMD, whose length is not known before: all until the end of the stream, but `limit` bytes at most.
  asio::awaitable<void> ReadExactly(char* to, std::size_t size);
  asio::awaitable<void> Write(std::string_view bytes);
  // The bytes have to stay where they are until `done` is called with the error's text, which is empty without one.
  void Write(std::string_view bytes, std::function<void(const std::string& error)> done);

  // Packets of the handshake, with their lengths. A packet of more than 4 KiB is an error.
  asio::awaitable<std::string> ReadPacket();
  asio::awaitable<void> WritePacket(std::string_view packet);

  // Everything that waits ends.
  void Close() noexcept;

 private:
  asio::ip::tcp::socket socket_;
  std::unique_ptr<asio::ssl::stream<asio::ip::tcp::socket&>> tls_;  // null: plain
};

// Calls a function when its time is up before it is destroyed.
class TimeLimit {
 public:
  TimeLimit(asio::io_context& context, std::chrono::nanoseconds time,
            std::function<void()> expired);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  [[nodiscard]] bool expired() const noexcept { return state_->expired; }

 private:
  struct State {
    explicit State(asio::io_context& context) : timer(context) {}
    asio::steady_timer timer;
    std::function<void()> function;
    bool expired = false;
  };
  std::shared_ptr<State> state_;
};

}  // namespace ergon::dist
