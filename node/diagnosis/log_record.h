// A line of the log as its parts, and the parts as a line.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/log_level.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>

namespace ergon::node {

struct LogRecord {
  gen::LogLevel level;
  std::string_view text;
  gen::Atom node;
  // The process whose line it is; without a PID it is the node's own.
  gen::PID pid = {};
  gen::Atom name = {};
  std::string behavior = {};
  gen::PID pool = {};  // of a worker
  gen::Atom pool_name = {};
  gen::TraceId trace = 0;
  std::string message = {};  // the type of what it handles
};

// Return a line in a gen::LogFormat, without a line end. Any thread.
[[nodiscard]] std::string AsText(const LogRecord& record);
[[nodiscard]] std::string AsJson(const LogRecord& record,
                                 std::chrono::system_clock::time_point time);

}  // namespace ergon::node
