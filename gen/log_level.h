// How much a log line matters.
#pragma once

#include <cstdint>
#include <string_view>

namespace ergon::gen {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError, kPanic, kOff };

constexpr std::string_view ToString(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return "trace";
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
    case LogLevel::kPanic:
      return "panic";
    case LogLevel::kOff:
      return "off";
  }
  return "unknown";
}

}  // namespace ergon::gen
