#include "connection.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <ergon/gen/node.h>
#include <ergon/node/boost_await.h>

#include "image.h"
#include "messages.h"
#include "traceparent.h"

namespace thumbnails {

using namespace ergon;
using namespace std::chrono_literals;
namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr auto kIdle = 60s;     // until a request begins
constexpr auto kSlowest = 10s;  // until it has come, and until its answer has been taken

using Parser = http::request_parser<http::string_body>;

// Whether the client waits for a word before it sends the body, as curl does with a large one.
bool IsAwaited(const beast::flat_buffer& buffer, const Parser& parser) {
  constexpr unsigned kHttp11 = 11;
  return !parser.is_done() && buffer.size() == 0 && parser.get().version() == kHttp11 &&
         beast::iequals(parser.get()[http::field::expect], "100-continue");
}

// Reads a request; what has begun is read to its end, also when the service stops meanwhile.
boost::system::error_code Read(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                               Parser& parser) {
  auto read = http::async_read_some(stream, buffer, parser, node::BoostAwaitOrStop(stream, kIdle));
  const bool has_begun =
      read || (read.error() == net::error::operation_aborted && parser.got_some());
  if (!has_begun) return read.error();
  if (!parser.is_header_done()) {
    read = http::async_read_header(stream, buffer, parser, node::BoostAwait(stream, kSlowest));
    if (!read) return read.error();  // too large a body, too: its client need not send it
  }
  if (IsAwaited(buffer, parser)) {
    const http::response<http::empty_body> go_on(http::status::continue_, 11);
    const auto written = http::async_write(stream, go_on, node::BoostAwait(stream, kSlowest));
    if (!written) return written.error();
  }
  read = http::async_read(stream, buffer, parser, node::BoostAwait(stream, kSlowest));
  return read ? boost::system::error_code() : read.error();
}

// A connection that is closed with unread input is reset, and its client may not learn why.
void Discard(beast::tcp_stream& stream) {
  constexpr int kMostReads = 1'024;
  const auto end = std::chrono::steady_clock::now() + 1s;
  boost::system::error_code ignored;
  stream.socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  std::array<char, 16'384> input{};
  for (int i = 0; i < kMostReads; ++i) {
    const auto left = std::max(end - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0));
    if (!stream.async_read_some(net::buffer(input), node::BoostAwaitOrStop(stream, left))) return;
  }
}

auto Text(http::status status, std::string text) {
  http::response<http::string_body> response(status, 11, std::move(text) + "\n");
  response.set(http::field::content_type, "text/plain");
  return response;
}

auto Busy(std::string why) {
  auto response = Text(http::status::service_unavailable, std::move(why));
  response.set(http::field::retry_after, "1");
  return response;
}

void Refuse(beast::tcp_stream& stream) {
  auto response = Busy("there are too many connections");
  response.keep_alive(false);
  response.prepare_payload();
  if (http::async_write(stream, response, node::BoostAwait(stream, kSlowest))) Discard(stream);
}

// A request with several of them has none.
TraceParent TraceOf(const http::fields& headers) {
  constexpr const char* kHeader = "traceparent";
  if (headers.count(kHeader) != 1) return NewTraceParent();
  const auto header = headers[kHeader];
  return ParseTraceParent({header.data(), header.size()}).value_or(NewTraceParent());
}

std::atomic<std::uint64_t>& CounterOf(http::status status, Traffic& traffic) {
  if (status == http::status::ok) return traffic.thumbnails;
  if (status == http::status::service_unavailable) return traffic.busy;
  if (status == http::status::internal_server_error) return traffic.failed;
  return traffic.wrong;
}

}  // namespace

gen::Status Connection::HandleMessage(gen::PID from, gen::Message& message) {
  auto* accepted = message.As<Accepted>();
  if (accepted == nullptr) return Actor::HandleMessage(from, message);
  beast::tcp_stream stream(std::move(accepted->socket));
  if (accepted->is_one_too_many) {
    Refuse(stream);
  } else {
    Serve(stream);
  }
  return gen::Stop(gen::Reason::Normal());
}

// All of a connection's life, from top to bottom. Wherever it waits it holds no thread.
void Connection::Serve(beast::tcp_stream& stream) {
  beast::flat_buffer buffer;
  for (;;) {
    Parser parser;
    parser.body_limit(options_.max_body);
    const auto error = Read(stream, buffer, parser);
    const bool too_large = error == http::error::body_limit;
    if (error && !too_large) return;  // no request, or none that is HTTP
    ++traffic_->requests;
    const TraceParent trace = TraceOf(parser.get());
    SetTrace(
        trace
            .Trace());  // of what this process asks and logs from now on, and of whoever handles that
    auto response =
        too_large
            ? Text(http::status::payload_too_large,
                   "the request has more than " + std::to_string(options_.max_body) + " bytes")
            : Answer(parser.get());
    ++CounterOf(response.result(), *traffic_);
    response.version(parser.get().version());  // those of HTTP/1.0 have to be told "keep-alive"
    response.keep_alive(!too_large && parser.keep_alive());
    response.set("traceresponse", trace.HeaderOf(gen::NewTraceId()));
    response.prepare_payload();
    if (parser.get().method() == http::verb::head)
      response.body().clear();  // only its length is told
    Log().Debug("{} {}: {}", std::string(parser.get().method_string()),
                std::string(parser.get().target()), response.result_int());
    if (!http::async_write(stream, response, node::BoostAwait(stream, kSlowest))) return;
    ++traffic_->answered;
    if (!response.keep_alive()) return Discard(stream);
  }
}

Connection::Response Connection::Answer(const Request& request) {
  if (request.target() != "/thumbnail") {
    return Text(http::status::not_found, "there is only /thumbnail");
  }
  if (request.method() != http::verb::post) {
    auto response = Text(http::status::method_not_allowed, "POST an image");
    response.set(http::field::allow, "POST");
    return response;
  }
  auto image = ParsePpm(request.body());
  if (!image) return Text(http::status::bad_request, std::string(image.error().detail()));
  const gen::ProcessID scalers{kScalers, Node().Name()};
  const auto thumbnail = Call(scalers, Scale{std::move(*image)});
  if (thumbnail) {
    Response response(http::status::ok, 11, ToPpm(*thumbnail));
    response.set(http::field::content_type, "image/x-portable-pixmap");
    return response;
  }
  if (thumbnail.error() == gen::ErrProcessMailboxFull) {
    return Busy("too many requests wait");
  }
  return Text(http::status::internal_server_error, thumbnail.error().ToString());
}

}  // namespace thumbnails
