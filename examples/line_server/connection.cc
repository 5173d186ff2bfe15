#include "connection.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <system_error>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>

#include <ergon/node/await.h>

namespace line_server {

using namespace ergon;
using namespace std::chrono_literals;

namespace {
constexpr std::size_t kMaxLine = 65'536;  // bytes, with its newline
constexpr auto kWriteTimeout = 10s;       // for a client that reads nothing

// A connection that is closed with unread input is reset, and its client may not learn why.
void Discard(asio::ip::tcp::socket& socket) {
  constexpr int kMostReads = 256;
  const auto end = std::chrono::steady_clock::now() + 1s;
  std::error_code ignored;
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  std::array<char, 4096> input{};
  for (int i = 0; i < kMostReads; ++i) {
    const auto left = std::max(end - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0));
    if (!socket.async_read_some(asio::buffer(input), node::AwaitOrStop(left))) return;
  }
}

}  // namespace

gen::Status Connection::HandleMessage(gen::PID from, gen::Message& message) {
  auto* accepted = message.As<Accepted>();
  if (accepted == nullptr) return Actor::HandleMessage(from, message);
  Serve(accepted->socket);
  return gen::Stop(gen::Reason::Normal());  // the socket is closed with the message
}

void Connection::Terminate(const gen::Reason&) { --traffic_->open; }

// All of a connection's life, from top to bottom. It waits in four places and holds no thread in any.
void Connection::Serve(asio::ip::tcp::socket& socket) {
  const gen::ProcessID answerers{kAnswerers, Node().Name()};
  std::string input;
  for (;;) {
    const auto size = asio::async_read_until(socket, asio::dynamic_buffer(input, kMaxLine), '\n',
                                             node::AwaitOrStop(idle_));
    if (!size) {
      if (size.error() == asio::error::not_found && Write(socket, "error: the line is too long")) {
        Discard(socket);
      }
      if (size.error() == asio::error::eof && !input.empty()) {
        Write(socket, "error: the line has no end");
      }
      if (size.error() == asio::error::timed_out) Write(socket, "error: nothing came for too long");
      if (size.error() == asio::error::operation_aborted) Write(socket, "error: server stops");
      return;
    }
    std::string line = input.substr(0, *size - 1);
    if (line.ends_with('\r')) line.pop_back();
    input.erase(0, *size);
    if (line == "quit") return;
    const auto answer = Call(answerers, Line{line});
    if (!Write(socket, answer ? *answer : "error: " + answer.error().ToString())) return;
    ++traffic_->lines;
  }
}

bool Connection::Write(asio::ip::tcp::socket& socket, std::string text) {
  text += '\n';
  return asio::async_write(socket, asio::buffer(text), node::Await(kWriteTimeout)).has_value();
}

}  // namespace line_server
