#include "administration.h"

#include <charconv>
#include <chrono>

#include <fmt/core.h>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/system_error.hpp>

#include <ergon/act/pool_stats.h>
#include <ergon/gen/node.h>
#include <ergon/node/boost_await.h>

#include "messages.h"

namespace price_service {

using namespace ergon;
using namespace std::chrono_literals;
namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr auto kSlowest = 5s;  // until a request has come, and until its answer has been taken

auto Text(http::status status, std::string text) {
  http::response<http::string_body> response(status, 11, std::move(text) + "\n");
  response.set(http::field::content_type, "text/plain");
  return response;
}

std::string_view WhatToDo(const boost::system::error_code& error) {
  if (error == net::error::address_in_use) return "; somebody else does: choose another one, or 0";
  if (error == net::error::access_denied) return "; choose one from 1024 on";
  return "";
}

// A page of the web whose name leads to this machine would be asked for in that name: browsers let it PUT.
bool IsLocal(std::string_view host) {
  host = host.substr(0, host.find(':'));
  return host.empty() || host == "127.0.0.1" || host == "localhost";
}

http::status StatusOf(const gen::Error& error) {
  return error == gen::ErrIncorrect ? http::status::bad_request : http::status::service_unavailable;
}

}  // namespace

gen::Status Administration::Init(const gen::Args&) {
  try {
    acceptor_.emplace(node::BoostIoContext(Node()),
                      net::ip::tcp::endpoint(net::ip::address_v4::loopback(), *port_));
  } catch (const boost::system::system_error& failure) {
    return gen::Stop(
        gen::Reason::Error(fmt::format("--http-port {}: {}{}", port_->load(),
                                       failure.code().message(), WhatToDo(failure.code()))));
  }
  *port_ = acceptor_->local_endpoint().port();
  (void)Send(Self(), Serve{});
  return gen::Continue();
}

gen::Status Administration::HandleMessage(gen::PID from, gen::Message& message) {
  if (!message.Is<Serve>()) return Actor::HandleMessage(from, message);
  auto socket = acceptor_->async_accept(node::BoostAwaitOrStop(*acceptor_));
  if (socket) {
    const auto request = Spawn(gen::Factory<AdministrationRequest>());
    if (request) (void)Send(*request, AdministrationRequest::Accepted{std::move(*socket)});
    if (!request) Log().Warning("a connection is refused: {}", request.error());
  } else if (socket.error() == net::error::operation_aborted) {
    return gen::Continue();  // the service stops
  } else {
    Log().Warning("accept: {}", socket.error().message());  // no file descriptor left, say
    (void)Sleep(100ms);
  }
  (void)Send(Self(), Serve{});
  return gen::Continue();
}

gen::Status AdministrationRequest::HandleMessage(gen::PID from, gen::Message& message) {
  auto* accepted = message.As<Accepted>();
  if (accepted == nullptr) return Actor::HandleMessage(from, message);
  beast::tcp_stream stream(std::move(accepted->socket));
  Serve(stream);
  return gen::Stop(gen::Reason::Normal());
}

void AdministrationRequest::Serve(beast::tcp_stream& stream) {
  beast::flat_buffer buffer;
  Request request;
  if (!http::async_read(stream, buffer, request, node::BoostAwaitOrStop(stream, kSlowest))) return;
  Response response = Answer(request);
  response.keep_alive(false);
  response.prepare_payload();
  if (!http::async_write(stream, response, node::BoostAwait(stream, kSlowest))) return;
  boost::system::error_code ignored;
  stream.socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
}

AdministrationRequest::Response AdministrationRequest::Answer(const Request& request) {
  constexpr std::string_view kWorkers = "/workers/";
  const auto host = request[http::field::host];
  if (!IsLocal({host.data(), host.size()})) {
    return Text(http::status::forbidden, "the host is neither 127.0.0.1 nor localhost");
  }
  const std::string target(request.target());
  if (target == "/health" && request.method() == http::verb::get) return Health();
  if (target == "/stats" && request.method() == http::verb::get) return Stats();
  if (target.rfind(kWorkers, 0) == 0 && request.method() == http::verb::put) {
    return Workers(std::string_view(target).substr(kWorkers.size()));
  }
  return Text(http::status::not_found, "there are GET /health, GET /stats and PUT /workers/N");
}

AdministrationRequest::Response AdministrationRequest::Health() {
  const auto stats = act::Stats(Process(), gen::Atom(kPrices), {.timeout = 1s});
  if (!stats) return Text(http::status::service_unavailable, stats.error().ToString());
  return Text(http::status::ok, "ok");
}

AdministrationRequest::Response AdministrationRequest::Stats() {
  const auto stats = act::Stats(Process(), gen::Atom(kPrices));
  if (!stats) return Text(http::status::service_unavailable, stats.error().ToString());
  return Text(
      http::status::ok,
      fmt::format("workers {}\nbusy {}\nqueued {}\nhandled {}\nrefused {}\nexpired {}\n"
                  "restarts {}\nqueue_wait_estimate_us {}",
                  stats->size, stats->busy, stats->queued, stats->handled, stats->unhandled,
                  stats->expired, stats->worker_restarts, stats->queue_wait_estimate.count()));
}

AdministrationRequest::Response AdministrationRequest::Workers(std::string_view number) {
  Resize resize;
  const char* const end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, resize.workers);
  if (read.ec != std::errc() || read.ptr != end) {
    return Text(http::status::bad_request, fmt::format("workers: \"{}\" is no number", number));
  }
  const auto size = Call(gen::Atom(kPrices), resize, {.priority = gen::MessagePriority::kHigh});
  if (!size) return Text(StatusOf(size.error()), size.error().ToString());
  return Text(http::status::ok, fmt::format("workers {}", *size));
}

}  // namespace price_service
