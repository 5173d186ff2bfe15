// A connection of HTTP is a process.
#pragma once

#include <memory>
#include <utility>

#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <ergon/act/actor.h>

#include "options.h"
#include "traffic.h"

namespace thumbnails {

class Connection : public ergon::act::Actor {
 public:
  Connection(Options options, std::shared_ptr<Traffic> traffic)
      : options_(std::move(options)), traffic_(std::move(traffic)) {}

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;

  void Serve(boost::beast::tcp_stream& stream);
  Response Answer(const Request& request);

  const Options options_;
  const std::shared_ptr<Traffic> traffic_;
};

}  // namespace thumbnails
