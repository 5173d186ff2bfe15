#include <ergon/node/diagnosis/logging.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <ergon/core/foundations/thrown_text.h>

namespace ergon::node {
namespace {

spdlog::level::level_enum ToSpdlog(gen::LogLevel level) {
  switch (level) {
    case gen::LogLevel::kTrace:
      return spdlog::level::trace;
    case gen::LogLevel::kDebug:
      return spdlog::level::debug;
    case gen::LogLevel::kInfo:
      return spdlog::level::info;
    case gen::LogLevel::kWarning:
      return spdlog::level::warn;
    case gen::LogLevel::kError:
      return spdlog::level::err;
    case gen::LogLevel::kPanic:
      return spdlog::level::critical;
    case gen::LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

}  // namespace

struct Logging::Impl {
  Impl(Sink function, const std::string& pattern)
      : sink(std::move(function)),
        logger("ergon", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()) {
    // Levels are decided before a line is formatted; what gets here is written.
    logger.set_level(spdlog::level::trace);
    logger.set_pattern(pattern);
  }
  Sink sink;
  std::mutex mutex;              // of the user's function
  bool sink_has_thrown = false;  // guarded by mutex
  spdlog::logger logger;
};

Logging::Logging(gen::LogFormat format, Sink sink, WallClock wall_clock)
    : format_(format),
      wall_clock_(std::move(wall_clock)),
      impl_(std::make_unique<Impl>(std::move(sink), format == gen::LogFormat::kJson
                                                        ? "%v"
                                                        : "%Y-%m-%d %H:%M:%S.%e %^%-8l%$ %v")) {}

Logging::~Logging() = default;

void Logging::Write(const LogRecord& record) {
  if (started_in_ != core::ForkCount()) return;
  const std::string line =
      format_ == gen::LogFormat::kJson ? AsJson(record, wall_clock_()) : AsText(record);
  if (impl_->sink) {
    std::lock_guard lock(impl_->mutex);
    try {
      impl_->sink(record.level, line);
    } catch (...) {
      // Whoever writes a line can do nothing about it, and goes on. Once: it may throw each time.
      if (std::exchange(impl_->sink_has_thrown, true)) return;
      const std::string text = fmt::format(
          "ergon: log_sink threw: {}; lines at which it does that are lost, as this one: {}\n",
          core::ThrownText(), line);
      std::fputs(text.c_str(), stderr);
    }
    return;
  }
  impl_->logger.log(ToSpdlog(record.level), "{}", line);
}

}  // namespace ergon::node
