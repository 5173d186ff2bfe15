// Log lines of a process or of the node.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/log_level.h>

namespace ergon::gen {

// Where log lines go; the node implements it. May be called from any thread.
class LogSink {
 public:
  virtual ~LogSink() = default;
  [[nodiscard]] virtual LogLevel Level() const = 0;
  virtual void Write(LogLevel level, std::string_view text) = 0;
};

// Writes log lines, as in `Log().Error("cannot scale: {}", result.error())`. The text is formatted (fmt's syntax) only
// if its level is enabled. Each line carries the pid, the name and the behaviour of its process.
class Log {
 public:
  explicit Log(LogSink& sink) : sink_(&sink) {}

  template <class... A>
  void Trace(fmt::format_string<A...> format, A&&... arguments) const {
    Put(LogLevel::kTrace, format, arguments...);
  }
  template <class... A>
  void Debug(fmt::format_string<A...> format, A&&... arguments) const {
    Put(LogLevel::kDebug, format, arguments...);
  }
  template <class... A>
  void Info(fmt::format_string<A...> format, A&&... arguments) const {
    Put(LogLevel::kInfo, format, arguments...);
  }
  template <class... A>
  void Warning(fmt::format_string<A...> format, A&&... arguments) const {
    Put(LogLevel::kWarning, format, arguments...);
  }
  template <class... A>
  void Error(fmt::format_string<A...> format, A&&... arguments) const {
    Put(LogLevel::kError, format, arguments...);
  }
  template <class... A>
  void Panic(fmt::format_string<A...> format, A&&... arguments) const {
    Put(LogLevel::kPanic, format, arguments...);
  }

  [[nodiscard]] bool IsEnabled(LogLevel level) const { return level >= sink_->Level(); }

 private:
  template <class... A>
  void Put(LogLevel level, fmt::string_view format, A&... arguments) const {
    if (IsEnabled(level))
      sink_->Write(level, fmt::vformat(format, fmt::make_format_args(arguments...)));
  }

  LogSink* sink_;
};

}  // namespace ergon::gen
