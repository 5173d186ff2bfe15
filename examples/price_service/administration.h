// HTTP for those who run the service, on a port of its own: one request at a time, which is enough for people, probes
// and scripts.
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

class Administration : public ergon::act::Actor {
 public:
  // `listens_at`: 0 for any port; it is set to the one that is open.
  explicit Administration(std::shared_ptr<std::atomic<std::uint16_t>> listens_at)
      : port_(std::move(listens_at)) {}

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  struct Serve {};  // to itself, after Init

  ergon::gen::Status Init(const ergon::gen::Args& args) override;
  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;

  void ServeOne(boost::beast::tcp_stream& stream);
  Response Answer(const Request& request);
  Response Health();
  Response Stats();
  Response Workers(std::string_view number);

  const std::shared_ptr<std::atomic<std::uint16_t>> port_;
  std::optional<boost::asio::ip::tcp::acceptor> acceptor_;
};

}  // namespace price_service
