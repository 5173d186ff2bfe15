#include <ergon/node/observer/http/server.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>

#include <fmt/core.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/error_code.hpp>

#include <ergon/gen/log_limit.h>
#include <ergon/gen/process.h>
#include <ergon/node/boost_await.h>
#include <ergon/node/observer/http/routes.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process/wait_errors.h>

namespace ergon::node {

namespace net = boost::asio;
namespace http = boost::beast::http;
using Tcp = net::ip::tcp;

struct ListenSocket {
  explicit ListenSocket(net::io_context& context) : acceptor(context) {}
  Tcp::acceptor acceptor;
};

namespace {

using namespace std::chrono_literals;
using ErrorCode = boost::system::error_code;
using Request = http::request<http::string_body>;
// A view of the answer's body, which many may get.
using Response = http::response<http::span_body<const char>>;

// After an answer to a request that was not read to its end: closing at once would take the answer away from the
// client.
constexpr std::chrono::nanoseconds kLinger = 500ms;
constexpr std::size_t kMostLingered = 1'048'576;  // bytes

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

// The only header of that name; none if there is none, or more.
std::optional<std::string_view> OnlyHeader(const Request& request, http::field name) {
  if (request.count(name) != 1) return std::nullopt;
  return View(request[name]);
}
// The same, but more of them are a text that nobody accepts.
std::optional<std::string_view> Header(const Request& request, boost::beast::string_view name) {
  const auto count = request.count(name);
  if (count == 0) return std::nullopt;
  return count == 1 ? View(request[name]) : std::string_view("there is more than one");
}

ObserverRequest Looked(const Request& request) {
  return {.is_get = request.method() == http::verb::get || request.method() == http::verb::head,
          .is_post = request.method() == http::verb::post,
          .target = View(request.target()),
          .accept = View(request[http::field::accept]),
          .head = {.host = OnlyHeader(request, http::field::host),
                   .origin = Header(request, "Origin"),
                   .fetch_site = Header(request, "Sec-Fetch-Site"),
                   .authorization = Header(request, "Authorization")}};
}

// Is valid as long as the answer.
Response ResponseTo(const ObserverAnswer& answer) {
  const std::string_view body = answer.Body();
  Response response(static_cast<http::status>(answer.status), 11,
                    boost::beast::span<const char>(body.data(), body.size()));
  response.set(http::field::content_type,
               boost::beast::string_view(answer.content_type.data(), answer.content_type.size()));
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Content-Security-Policy",
               answer.is_page ? "default-src 'self'; base-uri 'none'; form-action 'none'; "
                                "frame-ancestors 'none'"
                              : "default-src 'none'; frame-ancestors 'none'");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Referrer-Policy", "no-referrer");
  if (answer.status == 401) response.set(http::field::www_authenticate, "Bearer realm=\"ergon\"");
  if (answer.status == 405) {
    response.set(http::field::allow,
                 boost::beast::string_view(answer.allow.data(), answer.allow.size()));
  }
  return response;
}

// What is told of a request that could not be read; none: nobody is there to be told.
std::optional<ObserverAnswer> AnswerTo(const ErrorCode& error) {
  if (error == net::error::timed_out) {
    return ObserverAnswer{.status = 408, .body = "the request took too long\n"};
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return ObserverAnswer{.status = 431, .body = "the header is too long\n"};
  }
  if (error == http::error::body_limit) {
    return ObserverAnswer{.status = 413, .body = "the body is too long\n"};
  }
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error.category() != http::make_error_code(http::error::bad_method).category()) {
    return std::nullopt;
  }
  return ObserverAnswer{.status = 400, .body = "this is no request of HTTP\n"};
}

// One connection, in its own process.
class Connection {
 public:
  Connection(gen::Process& self, ObserverState& state, OpenConnections::Place& place,
             Tcp::socket socket)
      : self_(self),
        state_(state),
        options_(state.settings.options),
        place_(place),
        socket_(std::move(socket)),
        buffer_(static_cast<std::size_t>(options_.max_header_bytes) +
                static_cast<std::size_t>(options_.max_body_bytes)) {
    ErrorCode ignored;  // with what else is wrong, the first read fails, too
    socket_.non_blocking(true, ignored);
  }

  void Serve() {
    while (AwaitRequest() && ServeOne()) {
    }
    ErrorCode ignored;
    socket_.shutdown(Tcp::socket::shutdown_send, ignored);
    if (must_linger_) Linger();
  }

 private:
  bool AwaitRequest() {
    if (buffer_.size() != 0) return true;  // it was sent along with the one before
    place_.Set(OpenConnections::Activity::kWaits);
    return socket_
        .async_wait(Tcp::socket::wait_read, BoostAwaitOrStop(socket_, options_.idle_timeout))
        .has_value();
  }

  // False: it was the last one.
  bool ServeOne() {
    http::request_parser<http::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(options_.max_header_bytes));
    parser.body_limit(static_cast<std::uint64_t>(options_.max_body_bytes));
    place_.Set(OpenConnections::Activity::kReads);
    const ErrorCode error = Read(parser);
    place_.Set(OpenConnections::Activity::kAnswers);
    if (error) {
      const auto answer = AnswerTo(error);
      if (!answer) return false;
      must_linger_ = true;
      Response response = ResponseTo(*answer);
      response.keep_alive(false);
      (void)Write(response, false);
      return false;
    }
    const Request& request = parser.get();
    const ObserverAnswer answer = node::AnswerTo(self_, state_, Looked(request));
    Response response = ResponseTo(answer);
    response.version(request.version());  // those of HTTP/1.0 have to be told "keep-alive"
    response.keep_alive(request.keep_alive());
    return Write(response, request.method() == http::verb::head) && request.keep_alive();
  }

  // Most requests have come as a whole when something of them has: what need not be waited for is done without the
  // thread of the I/O. Not so what was sent along with the request before: a client that sends on and on would keep
  // this process from others, and from its end.
  ErrorCode Read(http::request_parser<http::string_body>& parser) {
    if (buffer_.size() == 0) {
      ErrorCode error;
      http::read(socket_, buffer_, parser, error);
      if (error != net::error::would_block) return error;
    }
    const auto read = http::async_read(socket_, buffer_, parser,
                                       BoostAwaitOrStop(socket_, options_.request_timeout));
    return read ? ErrorCode() : read.error();
  }

  // False: the client has not taken it.
  bool Write(Response& response, bool head_only) {
    response.prepare_payload();
    state_.answers.Add(response.result_int());
    http::response_serializer<http::span_body<const char>> serializer(response);
    // Most clients have room for all of it, see Read.
    ErrorCode error;
    if (head_only) {
      http::write_header(socket_, serializer, error);
    } else {
      http::write(socket_, serializer, error);
    }
    if (error != net::error::would_block) return !error;
    place_.Set(
        OpenConnections::Activity::kWrites);  // from here on the client decides how long it takes
    const auto token = BoostAwaitOrStop(socket_, options_.answer_timeout);
    const auto written = head_only ? http::async_write_header(socket_, serializer, token)
                                   : http::async_write(socket_, serializer, token);
    return written.has_value();
  }

  void Linger() {
    place_.Set(OpenConnections::Activity::kWaits);
    std::array<char, 4096> rest{};
    const std::int64_t end = self_.Now() + kLinger.count();
    for (std::size_t size = 0; size < kMostLingered;) {
      const std::chrono::nanoseconds left(end - self_.Now());
      if (left.count() <= 0) return;
      const auto read = socket_.async_read_some(net::buffer(rest), BoostAwaitOrStop(socket_, left));
      if (!read) return;
      size += *read;
    }
  }

  gen::Process& self_;
  ObserverState& state_;
  const ObserverOptions& options_;
  OpenConnections::Place& place_;
  Tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  bool must_linger_ = false;
};

}  // namespace

// The process of a connection is made of this function. Lists of processes show the name of this type, so it is not in
// the unnamed namespace.
struct ObserverConnection {
  void operator()(gen::Process& self) const {
    if (!place->SetOwner(self.Self())) return;
    try {
      Connection(self, *state, *place, std::move(*socket)).Serve();
    } catch (const std::exception& error) {
      self.Log().Error("a connection of the observer: {}", error.what());
    }
  }

  std::shared_ptr<ObserverState> state;
  std::shared_ptr<OpenConnections::Place> place;  // before its state
  std::shared_ptr<Tcp::socket> socket;
};

namespace {

// A program that this one starts would hold the port, and connections, for as long as it runs. Boost.Asio does not see
// to it.
void KeepFromChildren(int descriptor) { (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

void RefuseNew(ObserverState& state, Tcp::socket& socket) {
  constexpr std::string_view kBody = "the observer answers as many as it may (max_connections)\n";
  static const std::string busy = fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
      "Content-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\r\n{}",
      kBody.size(), kBody);
  ErrorCode ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(net::buffer(busy), ignored);
  // Whoever closes a socket with something unread in it takes away what was written.
  socket.shutdown(Tcp::socket::shutdown_send, ignored);
  std::array<char, 4'096> request{};
  for (int i = 0; i < 4 && !ignored; ++i) socket.read_some(net::buffer(request), ignored);
  state.answers.Add(503);
}

void Admit(gen::Process& self, const std::shared_ptr<ObserverState>& state, Tcp::socket socket) {
  auto place = state->connections.Enter();
  if (place == nullptr) {
    const auto oldest = state->connections.TakeOldest();
    if (!oldest) return RefuseNew(*state, socket);
    state->displaced.fetch_add(1, std::memory_order_relaxed);
    (void)self.SendExit(*oldest, gen::Reason::Shutdown());
    place = state->connections.Enter();
    if (place == nullptr) return;  // the observer ends
  }
  const auto spawned = self.Spawn(ObserverConnection{
      state, std::move(place), std::make_shared<Tcp::socket>(std::move(socket))});
  if (!spawned) self.Log().Warning("a connection cannot be served: {}", spawned.error());
}

// Before accepting is tried again. An error: it had to end before.
ErrorCode PauseOf(Tcp::acceptor& acceptor) {
  net::steady_timer timer(acceptor.get_executor());
  timer.expires_after(100ms);
  const auto waited = timer.async_wait(BoostAwaitOrStop(timer));
  return waited ? ErrorCode() : waited.error();
}

}  // namespace

gen::Result<std::shared_ptr<ListenSocket>> Listen(gen::Node& node, ObserverState& state) {
  const ObserverOptions& options = state.settings.options;
  ErrorCode error;
  const Tcp::endpoint endpoint(net::ip::make_address(options.address, error),
                               static_cast<std::uint16_t>(options.port));
  auto socket = std::make_shared<ListenSocket>(BoostIoContext(node));
  Tcp::acceptor& acceptor = socket->acceptor;
  if (!error) acceptor.open(endpoint.protocol(), error);
  if (!error) KeepFromChildren(acceptor.native_handle());
  if (!error) acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(Tcp::acceptor::max_listen_connections, error);
  if (!error) state.port = acceptor.local_endpoint(error).port();
  if (error) {
    return Incorrect(fmt::format("address: \"{}\", port: {}: {}", options.address, options.port,
                                 error.message()));
  }
  return socket;
}

struct Listener {
  gen::Reason operator()(gen::Process& self) const;

  std::shared_ptr<ObserverState> state;
  std::shared_ptr<ListenSocket> socket;
};

gen::ProcessFactory ListenerFactory(std::shared_ptr<ObserverState> state,
                                    std::shared_ptr<ListenSocket> socket) {
  return Listener{std::move(state), std::move(socket)};
}

gen::Reason Listener::operator()(gen::Process& self) const {
  Tcp::acceptor& acceptor = socket->acceptor;
  gen::LogLimit limit;
  for (;;) {
    auto accepted = acceptor.async_accept(BoostAwaitOrStop(acceptor));
    if (accepted) {
      KeepFromChildren(accepted->native_handle());
      Admit(self, state, std::move(*accepted));
      continue;
    }
    ErrorCode error = accepted.error();
    if (error != net::error::operation_aborted && error != net::error::no_memory) {
      // No file descriptor left, say.
      if (const auto more = limit.Take()) {
        self.Log().Warning("no connection is accepted: {}{}", error.message(), *more);
      }
      error = PauseOf(acceptor);
    }
    if (error == net::error::operation_aborted) return {};
    if (error == net::error::no_memory) {
      return gen::Reason::Error("no connection is accepted: " + NoStackError().ToString());
    }
  }
}

}  // namespace ergon::node
