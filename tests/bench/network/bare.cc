#include <bench/network/bare.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include <bench/network/nodes.h>
#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/erlang/terms/big_endian.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::bench {
namespace {

using asio::ip::tcp;

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kReadBytes = 64 * 1024;

const tcp::endpoint kLoopback(asio::ip::address_v4::loopback(), 0);

// Counts what one client sends.
class Receiver : public std::enable_shared_from_this<Receiver> {
 public:
  explicit Receiver(tcp::socket socket) : socket_(std::move(socket)) {}

  void Read() {
    bytes_.resize(had_ + kReadBytes);
    socket_.async_read_some(
        asio::buffer(bytes_.data() + had_, kReadBytes),
        [self = shared_from_this()](const asio::error_code& error, std::size_t got) {
          if (error) {
            self->Tell();
            return;
          }
          self->had_ += got;
          self->TakeFrames();
          self->Read();
        });
  }

 private:
  void TakeFrames() {
    std::size_t at = 0;
    while (had_ - at >= kLengthBytes) {
      const std::size_t length =
          dist::ReadBigEndian<std::uint32_t>(std::string_view(bytes_).substr(at));
      if (had_ - at < kLengthBytes + length) break;
      at += kLengthBytes + length;
      ++count_;
    }
    std::memmove(bytes_.data(), bytes_.data() + at, had_ - at);
    had_ -= at;
  }
  void Tell() {
    asio::error_code ignored;
    asio::write(socket_, asio::buffer(&count_, sizeof(count_)), ignored);
  }

  tcp::socket socket_;
  std::string bytes_;
  std::size_t had_ = 0;
  std::uint64_t count_ = 0;
};

void Accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](const asio::error_code& error, tcp::socket socket) {
    if (error) return;
    std::make_shared<Receiver>(std::move(socket))->Read();
    Accept(acceptor);
  });
}

}  // namespace

void ServeBare() {
  asio::io_context context;
  tcp::acceptor acceptor(context, kLoopback);
  Accept(acceptor);
  std::thread end([&] {
    while (std::cin.get() != std::istream::traits_type::eof()) {
    }
    context.stop();
  });
  std::cout << "ready " << acceptor.local_endpoint().port()
            << std::endl;  // NOLINT(performance-avoid-endl): somebody waits for it
  context.run();
  end.join();
}

double MeasureBare(const BareOptions& options) {
  asio::io_context context;
  tcp::socket socket(context);
  asio::error_code refused;
  socket.connect({kLoopback.address(), options.port}, refused);
  if (refused) throw std::runtime_error("bare: " + refused.message());
  socket.set_option(tcp::no_delay(true));
  std::string frame(options.frame_bytes, 'x');
  dist::WriteBigEndian(frame.data(), static_cast<std::uint32_t>(frame.size() - kLengthBytes));
  const auto most =
      static_cast<std::int64_t>(std::max<std::size_t>(options.write_bytes / frame.size(), 1));
  std::string out;
  std::int64_t left = options.count;
  // Each frame is put behind the others, as a message is that a node sends.
  const std::function<void()> write = [&] {
    const std::int64_t now = std::min(most, left);
    left -= now;
    out.clear();
    for (std::int64_t i = 0; i < now; ++i) out.append(frame);
    asio::async_write(socket, asio::buffer(out), [&](const asio::error_code& error, std::size_t) {
      if (error) throw std::runtime_error("bare: " + error.message());
      if (left != 0) write();
    });
  };
  const auto start = std::chrono::steady_clock::now();
  write();
  context.run();
  socket.shutdown(tcp::socket::shutdown_send);
  std::uint64_t count = 0;
  asio::read(socket, asio::buffer(&count, sizeof(count)));
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  if (count != static_cast<std::uint64_t>(options.count)) {
    throw std::runtime_error("bare: frames are missing");
  }
  return time.count() / static_cast<double>(options.count);
}

std::size_t FrameBytes(const char* from, const char* to) {
  std::string payload;
  dist::TermWriter(payload).Binary(std::string(kPayloadBytes, 'x'));
  dist::Signal signal;
  signal.kind = dist::SignalKind::kSend;
  signal.from = gen::PID{1, gen::Atom(from), 1};
  signal.to = gen::PID{1, gen::Atom(to), 1};
  signal.payload = payload;
  std::string frame;
  dist::AppendFrame(frame, signal, dist::kOwnFlags);
  return frame.size();
}

}  // namespace ergon::bench
