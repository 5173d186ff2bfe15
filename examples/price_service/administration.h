// HTTP for those who run the service, on a port of its own, for programs of this machine. Each connection has a process
// of its own and one request, so nobody waits for a client that says nothing.
//
//   GET /health       200 while the pool answers, else 503
//   GET /stats        what the pool does, a line for each number
//   PUT /workers/8    so many workers from now on
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <ergon/act/actor.h>

namespace price_service {

// Accepts connections.
class Administration : public ergon::act::Actor {
 public:
  // `listens_at`: 0 for any port; it is set to the one that is open.
  explicit Administration(std::shared_ptr<std::atomic<std::uint16_t>> listens_at)
      : port_(std::move(listens_at)) {}

 private:
  struct Serve {};  // to itself, after Init

  ergon::gen::Status Init(const ergon::gen::Args& args) override;
  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;

  const std::shared_ptr<std::atomic<std::uint16_t>> port_;
  std::optional<boost::asio::ip::tcp::acceptor> acceptor_;
};

// Serves one of them, and ends.
class AdministrationRequest : public ergon::act::Actor {
 public:
  struct Accepted {
    boost::asio::ip::tcp::socket socket;
  };

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;

  void Serve(boost::beast::tcp_stream& stream);
  Response Answer(const Request& request);
  Response Health();
  Response Stats();
  Response Workers(std::string_view number);
};

}  // namespace price_service
