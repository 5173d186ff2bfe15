#include <ergon/node/cluster/connection/stream.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <asio/read.hpp>
#include <asio/ssl/error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

#include <ergon/node/erlang/terms/big_endian.h>

namespace ergon::dist {
namespace {
constexpr std::size_t kLongestPacket = 4096;
// So much of a long write is given to the system at a time: Asio's own measure is 64 KiB.
constexpr std::size_t kMostOfAWrite = 256 * 1024;

// A handler that hears of the end of a stream by the same word over TCP and TLS. A cut is no danger that TLS would
// have to tell apart: what is cut inside a frame is not handled in either case.
template <class Handler>
auto WithOneEnd(Handler handler) {
  return [handler = std::move(handler)](asio::error_code error, std::size_t size) mutable {
    if (error == asio::ssl::error::stream_truncated) error = asio::error::eof;
    handler(error, size);
  };
}
}  // namespace

std::string Stream::PeerAddress() const {
  asio::error_code error;
  const auto endpoint = socket_.remote_endpoint(error);
  if (error) return {};
  return fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
}

void Stream::ConnectTo(const asio::ip::tcp::endpoint& endpoint) {
  tasks_.Await(Cancelling(),
               [&](auto handler) { socket_.async_connect(endpoint, std::move(handler)); });
}

void Stream::ConnectWithin(const asio::ip::tcp::endpoint& endpoint,
                           std::chrono::nanoseconds longest) {
  struct Attempt {
    bool has_ended = false;
    bool is_late = false;
  };
  const auto attempt = std::make_shared<Attempt>();
  asio::steady_timer timer(socket_.get_executor(), longest);
  timer.async_wait([this, attempt](const asio::error_code& error) {
    if (error || attempt->has_ended) return;
    attempt->is_late = true;
    asio::error_code ignored;
    socket_.cancel(ignored);
  });
  try {
    ConnectTo(endpoint);
    attempt->has_ended = true;
  } catch (...) {
    attempt->has_ended = true;
    if (attempt->is_late) throw std::system_error(make_error_code(asio::error::timed_out));
    throw;
  }
}

void Stream::Connect(const Addresses& addresses, std::uint16_t port,
                     std::chrono::nanoseconds longest) {
  std::exception_ptr problem;
  for (const auto& address : addresses) {
    asio::error_code ignored;
    socket_.close(ignored);
    bool was_open = false;  // a family that the machine does not have cannot be opened
    try {
      socket_.open(address.is_v6() ? asio::ip::tcp::v6() : asio::ip::tcp::v4());
      was_open = true;
      KeepFromChildren(socket_.native_handle());
      if (&address == &addresses.back()) {
        ConnectTo({address, port});
      } else {
        ConnectWithin({address, port}, longest);
      }
      SendAtOnce();
      return;
    } catch (const std::system_error&) {
      if (problem == nullptr)
        problem = std::current_exception();       // the address that is most likely
      if (was_open && !socket_.is_open()) break;  // by Close
    }
  }
  if (problem != nullptr) std::rethrow_exception(problem);
}

void Stream::StartTls(asio::ssl::context& tls, bool is_server, const std::string& host) {
  tls_ = std::make_unique<TlsLayer>(socket_, tls);
  // The name goes with the greeting, so that a server with several certificates finds the right one.
  if (!host.empty()) SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
  const auto problem = VerifyPeer(*tls_, host);
  const auto side = is_server ? asio::ssl::stream_base::server : asio::ssl::stream_base::client;
  try {
    tasks_.Await(Cancelling(),
                 [&](auto handler) { tls_->async_handshake(side, std::move(handler)); });
  } catch (const std::system_error& error) {
    throw std::runtime_error("TLS: " + TlsProblem(error, *problem));
  }
}

std::size_t Stream::ReadSome(char* to, std::size_t size) {
  return tasks_.Await<std::size_t>(Cancelling(), [&](auto handler) {
    WithLayer([&](auto& layer) {
      layer.async_read_some(asio::buffer(to, size), WithOneEnd(std::move(handler)));
    });
  });
}

void Stream::ReadExactly(char* to, std::size_t size) {
  (void)tasks_.Await<std::size_t>(Cancelling(), [&](auto handler) {
    WithLayer([&](auto& layer) {
      asio::async_read(layer, asio::buffer(to, size), WithOneEnd(std::move(handler)));
    });
  });
}

void Stream::Write(std::string_view bytes) {
  (void)tasks_.Await<std::size_t>(Cancelling(), [&](auto handler) {
    WithLayer(
        [&](auto& layer) { asio::async_write(layer, asio::buffer(bytes), std::move(handler)); });
  });
}

void Stream::Write(std::string_view bytes, std::function<void(std::size_t bytes)> written,
                   std::function<void(const std::string& error)> done) {
  // Asio asks before each part how large it may be.
  auto next = [written](const asio::error_code& error, std::size_t size) {
    written(size);
    return error ? 0 : kMostOfAWrite;
  };
  auto finish = [written = std::move(written), done = std::move(done)](
                    const asio::error_code& error, std::size_t size) {
    written(size);
    done(error ? error.message() : std::string());
  };
  WithLayer([&](auto& layer) {
    asio::async_write(layer, asio::buffer(bytes), std::move(next), std::move(finish));
  });
}

std::size_t Stream::WriteNow(std::string_view bytes) noexcept {
  if (tls_ != nullptr) return 0;
  const ssize_t written =
      ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return written > 0 ? static_cast<std::size_t>(written) : 0;
}

std::string Stream::ReadPacket() {
  std::array<char, 4> length{};
  const std::size_t length_bytes = tls_ != nullptr ? 4 : 2;
  ReadExactly(length.data() + length.size() - length_bytes, length_bytes);
  const std::size_t size = ReadBigEndian<std::uint32_t>({length.data(), length.size()});
  if (tls_ == nullptr && IsBeginOfTls(size)) {
    throw std::runtime_error(
        "the peer speaks TLS, and this node does not: give both ErlangOptions::tls, or none");
  }
  if (size > kLongestPacket) {
    throw std::runtime_error(fmt::format("a packet of {} bytes in the handshake", size));
  }
  std::string packet(size, '\0');
  ReadExactly(packet.data(), size);
  return packet;
}

void Stream::WritePackets(std::span<const std::string> packets) {
  std::string bytes;
  for (const std::string& packet : packets) {
    if (tls_ != nullptr) bytes.append(2, '\0');
    bytes.push_back(static_cast<char>(packet.size() >> 8));
    bytes.push_back(static_cast<char>(packet.size() & 0xff));
    bytes.append(packet);
  }
  if (!bytes.empty()) Write(bytes);
}

void Stream::SendAtOnce() noexcept {
  asio::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void TimeLimit::Check() const {
  if (state_->expired)
    throw std::system_error(asio::error::make_error_code(asio::error::timed_out));
}

void KeepFromChildren(int descriptor) noexcept { (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

void Stream::EndSending() noexcept {
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void Stream::Close() noexcept {
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

TimeLimit::TimeLimit(asio::io_context& context, std::chrono::nanoseconds time,
                     std::function<void()> expired)
    : state_(std::make_shared<State>(context)) {
  state_->function = std::move(expired);
  state_->timer.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(time));
  state_->timer.async_wait([state = state_](const asio::error_code& error) {
    if (error || !state->function) return;
    state->expired = true;
    state->function();
  });
}

TimeLimit::~TimeLimit() {
  state_->function = nullptr;
  asio::error_code ignored;
  state_->timer.cancel(ignored);
}

}  // namespace ergon::dist
