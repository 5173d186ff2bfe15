// Where a node's log lines go: spdlog, or the user's function.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <ergon/core/foundations/fork_count.h>
#include <ergon/gen/log_format.h>
#include <ergon/gen/log_level.h>
#include <ergon/node/diagnosis/log_record.h>

namespace ergon::node {

// Any thread.
class Logging {
 public:
  using Sink = std::function<void(gen::LogLevel, const std::string&)>;

  using WallClock = std::function<std::chrono::system_clock::time_point()>;

  // Without a sink, lines go to standard error, as text with time and level, coloured on a terminal.
  Logging(gen::LogFormat format, Sink sink, WallClock wall_clock);
  ~Logging();
  [[nodiscard]] gen::LogFormat format() const noexcept { return format_; }
  // In a fork of the program that has made this it writes nothing: another thread may have held a lock at that moment.
  void Write(const LogRecord& record);

 private:
  struct Impl;
  const gen::LogFormat format_;
  const WallClock wall_clock_;
  const std::uint32_t started_in_ = core::ForkCount();
  std::unique_ptr<Impl> impl_;
};

}  // namespace ergon::node
