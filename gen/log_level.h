// How much a log line matters.
#pragma once

#include <cstdint>
#include <optional>
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

// For errors: what LogLevelOf knows.
inline constexpr const char* kLogLevelNames = "trace, debug, info, warning, error, panic or off";
// Returns the level with the name, if there is one.
constexpr std::optional<LogLevel> LogLevelOf(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(LogLevel::kOff); ++i) {
    const auto level = static_cast<LogLevel>(i);
    if (ToString(level) == name) return level;
  }
  return std::nullopt;
}

}  // namespace ergon::gen
