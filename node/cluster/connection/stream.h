// Bytes to and from a peer, over TCP or TLS.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ssl/context.hpp>
#include <asio/steady_timer.hpp>

#include <ergon/node/cluster/connection/host_lookups.h>
#include <ergon/node/cluster/connection/tasks.h>
#include <ergon/node/cluster/connection/tls_problems.h>

namespace ergon::dist {

// Belongs to the thread of its context. Functions that wait do so in a task (see tasks.h). They throw std::system_error
// if they fail, and always after Close.
class Stream {
 public:
  Stream(asio::io_context& context, Tasks& tasks) : tasks_(tasks), socket_(context) {}
  Stream(asio::ip::tcp::socket socket, Tasks& tasks) : tasks_(tasks), socket_(std::move(socket)) {
    SendAtOnce();
  }

  [[nodiscard]] asio::ip::tcp::socket& socket() noexcept { return socket_; }
  // Returns the peer's address, for people; empty: none.
  [[nodiscard]] std::string PeerAddress() const;

  // Connects to the first of the addresses that can be reached. Each but the last one is given up after `longest`.
  void Connect(const Addresses& addresses, std::uint16_t port, std::chrono::nanoseconds longest);
  // Encrypts all bytes from here on; both sides show certificates. `host` has to be in the peer's certificate; empty:
  // any. Throws std::runtime_error with what people have to do if the peers cannot agree.
  void StartTls(asio::ssl::context& tls, bool is_server, const std::string& host);

  [[nodiscard]] bool IsTls() const noexcept { return tls_ != nullptr; }

  // The end of the stream is asio::error::eof, over TLS also without a closing message, which a killed node cannot
  // send.
  std::size_t ReadSome(char* to, std::size_t size);
  void ReadExactly(char* to, std::size_t size);
  void Write(std::string_view bytes);
  // Writes without waiting. The bytes have to stay where they are until `done` is called with the text of the error,
  // which is empty if there is none. `written` is called from time to time with the number of bytes written by now.
  void Write(std::string_view bytes, std::function<void(std::size_t bytes)> written,
             std::function<void(const std::string& error)> done);

  // Writes as much as can be written without waiting, and returns how many bytes that were. Writes nothing over TLS, or
  // if there is an error, which the next Write tells. Any thread, while nothing else writes or closes.
  std::size_t WriteNow(std::string_view bytes) noexcept;

  // Packets of the handshake, with their lengths. A packet of more than 4 KiB is an error.
  std::string ReadPacket();
  void WritePackets(std::span<const std::string> packets);

  // Lets the peer find the end of the stream behind what was written. If the socket were closed while bytes of the peer
  // have not been read, the system would throw away what is under way.
  void EndSending() noexcept;
  // Ends everything that waits.
  void Close() noexcept;

 private:
  // Calls a function with the layer for reading and writing: the socket, or TLS over it.
  template <class Function>
  void WithLayer(Function&& function) {
    if (tls_ != nullptr) {
      function(*tls_);
    } else {
      function(socket_);
    }
  }
  // Connects the socket, which is open.
  void ConnectTo(const asio::ip::tcp::endpoint& endpoint);
  // The same; after `longest` the error is timed_out.
  void ConnectWithin(const asio::ip::tcp::endpoint& endpoint, std::chrono::nanoseconds longest);
  void SendAtOnce() noexcept;  // not only when what was sent before is acknowledged
  // Returns a function that cancels what waits for the socket.
  [[nodiscard]] std::function<void()> Cancelling() {
    return [this] { Close(); };
  }

  Tasks& tasks_;
  asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsLayer> tls_;  // null: plain
};

// Keeps programs that this program starts from inheriting a socket.
void KeepFromChildren(int descriptor) noexcept;

// Calls a function if its time is up before it is destroyed.
class TimeLimit {
 public:
  TimeLimit(asio::io_context& context, std::chrono::nanoseconds time,
            std::function<void()> expired);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  [[nodiscard]] bool expired() const noexcept { return state_->expired; }
  // Throws std::system_error (timed_out) if it has expired. For steps that follow each other, because the function
  // cannot end a step that has just succeeded.
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
