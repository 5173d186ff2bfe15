// A TCP connection is a process.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <ergon/act/actor.h>

#include "messages.h"
#include "traffic.h"

namespace line_server {

class Connection : public ergon::act::Actor {
 public:
  // Closes after `idle` without a line.
  Connection(std::shared_ptr<Traffic> traffic, std::chrono::nanoseconds idle)
      : traffic_(std::move(traffic)), idle_(idle) {}

 private:
  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;

  void Terminate(const ergon::gen::Reason& reason) override;

  void Serve(asio::ip::tcp::socket& socket);
  bool Write(asio::ip::tcp::socket& socket, std::string text);

  const std::shared_ptr<Traffic> traffic_;
  const std::chrono::nanoseconds idle_;
};

}  // namespace line_server
