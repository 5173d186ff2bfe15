// Keeps the node's name registered at EPMD.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <asio/io_context.hpp>

#include <ergon/gen/log.h>
#include <ergon/gen/log_limit.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/connection/stream.h>
#include <ergon/node/cluster/connection/tasks.h>

namespace ergon::dist {

// Belongs to the thread of the network.
class Registration {
 public:
  Registration(asio::io_context& context, Tasks& tasks, const Settings& settings, gen::LogSink& log)
      : context_(context), tasks_(tasks), settings_(settings), log_(log) {}

  // Registers the name with this port, and again whenever EPMD was gone. Starts EPMD if there is none and the
  // settings say so. A later refusal is logged, and the registration is tried again. `registered` gets the result of
  // the first attempt: kTaken if another node has the name, or kNoConnection.
  void Start(std::uint16_t port, std::function<void(gen::Result<void>)> registered);
  void Close();

 private:
  void Keep(std::uint16_t port, std::function<void(gen::Result<void>)> registered);
  // Logs a refusal after the first attempt.
  void NoteRefused(const std::string& why);
  gen::Result<void> Register(std::uint16_t port);
  // Waits until EPMD closes the connection.
  void UntilGone();
  [[nodiscard]] gen::Result<void> StartEpmd();
  // Returns whether what was started is still in the foreground; else no zombie of it is left.
  bool IsInForeground();

  asio::io_context& context_;
  Tasks& tasks_;
  const Settings& settings_;
  gen::LogSink& log_;
  std::unique_ptr<Stream> epmd_;
  std::string refused_;  // why; empty: EPMD is gone, or knows the name
  gen::LogLimit again_lines_;
  gen::LogLimit gone_lines_;
  gen::LogLimit refused_lines_;
  int started_ = 0;  // its process id; 0: none, or it has gone into the background
  bool closed_ = false;
};

}  // namespace ergon::dist
