// Accepts connections and has a process started for each.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/ip/tcp.hpp>

#include <ergon/act/actor.h>

#include "options.h"
#include "traffic.h"

namespace thumbnails {

class Listener : public ergon::act::Actor {
 public:
  Listener(Options options, std::shared_ptr<Traffic> traffic)
      : options_(std::move(options)), traffic_(std::move(traffic)) {}

 private:
  // To itself, after Init.
  struct Accept {};

  // Opens the port: when the listener has started, clients may come.
  ergon::gen::Status Init(const ergon::gen::Args& args) override;
  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;

  void AcceptAll();
  void Start(boost::asio::ip::tcp::socket socket);

  const Options options_;
  const std::shared_ptr<Traffic> traffic_;
  std::optional<boost::asio::ip::tcp::acceptor> acceptor_;
};

}  // namespace thumbnails
