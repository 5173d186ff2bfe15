// Where a node's log lines go: spdlog, or the user's function.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <ergon/gen/log.h>

namespace ergon::node {

// Any thread.
class Logging {
 public:
  using Sink = std::function<void(gen::LogLevel, const std::string&)>;

  // Without a sink: to standard error, with time and level, coloured on a terminal.
  explicit Logging(Sink sink);
  ~Logging();
  void Write(gen::LogLevel level, std::string_view line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ergon::node
