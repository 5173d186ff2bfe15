// Bytes to and from a peer, over TCP or TLS.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ssl/context.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/steady_timer.hpp>

#include <ergon/node/cluster/connection/host_lookups.h>
#include <ergon/node/cluster/connection/tasks.h>

namespace ergon::dist {

// Belongs to the thread of its context. What waits does so in a task (see tasks.h); what fails throws std::system_error; after Close everything does.
class Stream {
 public:
  Stream(asio::io_context& context, Tasks& tasks) : tasks_(tasks), socket_(context) {}
  Stream(asio::ip::tcp::socket socket, Tasks& tasks) : tasks_(tasks), socket_(std::move(socket)) {}

  [[nodiscard]] asio::ip::tcp::socket& socket() noexcept { return socket_; }
  // The peer's address, for people; empty: none.
  [[nodiscard]] std::string PeerAddress() const;

  // Connects to the first of the addresses that can be reached.
  void Connect(const Addresses& addresses, std::uint16_t port);
  // From here on the bytes are encrypted; both sides show certificates. `host` is the one that is to be in the peer's
  // certificate; empty: any.
  void StartTls(asio::ssl::context& tls, bool is_server, const std::string& host);

  // The end of the stream is asio::error::eof, over TLS also without a farewell: a node that is killed says none.
  std::size_t ReadSome(char* to, std::size_t size);
  void ReadExactly(char* to, std::size_t size);
  void Write(std::string_view bytes);
  // The bytes have to stay where they are until `done` is called with the error's text, which is empty without one. `written` is
  // told from time to time how many there are by now.
  void Write(std::string_view bytes, std::function<void(std::size_t bytes)> written,
             std::function<void(const std::string& error)> done);

  // Writes as much as can be written without waiting, and returns how much that was. Nothing over TLS, or when it fails:
  // Write tells. Any thread, while nothing else writes or closes.
  std::size_t WriteNow(std::string_view bytes) noexcept;

  // Packets of the handshake, with their lengths. A packet of more than 4 KiB is an error.
  std::string ReadPacket();
  void WritePacket(std::string_view packet);

  // Everything that waits ends.
  void Close() noexcept;

 private:
  // Calls a function with what is read from and written to: the socket, or TLS over it.
  template <class Function>
  void WithLayer(Function&& function) {
    if (tls_ != nullptr) {
      function(*tls_);
    } else {
      function(socket_);
    }
  }
  // Cancels what waits for the socket.
  [[nodiscard]] std::function<void()> Cancelling() {
    return [this] { Close(); };
  }

  Tasks& tasks_;
  asio::ip::tcp::socket socket_;
  std::unique_ptr<asio::ssl::stream<asio::ip::tcp::socket&>> tls_;  // null: plain
};

// Programs that are started by this one do not inherit a socket.
void KeepFromChildren(int descriptor) noexcept;

// Calls a function when its time is up before it is destroyed.
class TimeLimit {
 public:
  TimeLimit(asio::io_context& context, std::chrono::nanoseconds time,
            std::function<void()> expired);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  [[nodiscard]] bool expired() const noexcept { return state_->expired; }
  // Throws std::system_error (timed_out) if it has expired. For steps that come one after the other: the function cannot
  // end one that has just succeeded.
  void Check() const;

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
