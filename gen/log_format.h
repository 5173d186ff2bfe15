// What the lines of a node's log look like.
#pragma once

#include <cstdint>
#include <string_view>

namespace ergon::gen {

enum class LogFormat : std::uint8_t {
  kText,  // for people: whose line it is, a colon, the text
  // For programs that collect logs: each line is a JSON object (RFC 8259) in UTF-8. Bytes that are not UTF-8 become
  // U+FFFD, control characters are escaped. All members are strings, in this order:
  //   time      of the node's wall clock, in UTC: 2026-02-28T13:05:09.123456Z
  //   level     trace, debug, info, warning, error, panic
  //   node      the node's name
  //   pid       of the process whose line it is; this and the following ones only in lines of processes
  //   name      its registered name, if it has one
  //   behavior  its class
  //   pool      of a pool's worker: the name of the pool, or its PID if it has none
  //   trace     16 hexadecimal digits, if it handles something with a trace id (gen/trace.h)
  //   message   the type of what it handles, if it handles a message
  //   text
  kJson,
};

constexpr std::string_view ToString(LogFormat format) {
  return format == LogFormat::kJson ? "json" : "text";
}

}  // namespace ergon::gen
