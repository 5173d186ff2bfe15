#include <ergon/gen/log.h>

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>

namespace ergon::gen {
namespace {

class Lines final : public LogSink {
 public:
  [[nodiscard]] LogLevel Level() const override { return level; }
  void Write(LogLevel line_level, std::string_view text) override {
    lines.emplace_back(line_level, text);
  }

  LogLevel level = LogLevel::kTrace;
  std::vector<std::pair<LogLevel, std::string>> lines;
};

// Notices when it is formatted.
struct Watched {
  int* formatted;
};

TEST_CASE("log: each function has its level") {
  Lines sink;
  const Log log(sink);
  log.Trace("t");
  log.Debug("d");
  log.Info("i");
  log.Warning("w");
  log.Error("e");
  log.Panic("p");
  const std::vector<std::pair<LogLevel, std::string>> expected{
      {LogLevel::kTrace, "t"},   {LogLevel::kDebug, "d"}, {LogLevel::kInfo, "i"},
      {LogLevel::kWarning, "w"}, {LogLevel::kError, "e"}, {LogLevel::kPanic, "p"}};
  CHECK((sink.lines == expected));
}

TEST_CASE("log: formats with the arguments") {
  Lines sink;
  const Log log(sink);
  std::string text = "text";
  log.Info("{} {:03} {} {}", text, 7, ErrTimeout, PID{5, Atom("demo"), 0});
  REQUIRE(sink.lines.size() == 1);
  CHECK(sink.lines[0].second == "text 007 timed out <demo.5.0>");
}

}  // namespace
}  // namespace ergon::gen

template <>
struct fmt::formatter<ergon::gen::Watched> : fmt::formatter<int> {
  template <class Context>
  auto format(const ergon::gen::Watched& watched, Context& context) const {
    return fmt::formatter<int>::format(++*watched.formatted, context);
  }
};

namespace ergon::gen {
namespace {

TEST_CASE("log: what is not enabled is not formatted") {
  Lines sink;
  sink.level = LogLevel::kWarning;
  const Log log(sink);
  int formatted = 0;
  log.Info("{}", Watched{&formatted});
  CHECK(formatted == 0);
  CHECK(sink.lines.empty());
  log.Warning("{}", Watched{&formatted});
  CHECK(formatted == 1);
  CHECK(sink.lines.size() == 1);
  CHECK_FALSE(log.IsEnabled(LogLevel::kInfo));
  CHECK(log.IsEnabled(LogLevel::kPanic));
}

TEST_CASE("log: switched off") {
  Lines sink;
  sink.level = LogLevel::kOff;
  const Log log(sink);
  log.Panic("p");
  CHECK(sink.lines.empty());
}

TEST_CASE("log: names of the levels") {
  CHECK(ToString(LogLevel::kTrace) == "trace");
  CHECK(ToString(LogLevel::kDebug) == "debug");
  CHECK(ToString(LogLevel::kInfo) == "info");
  CHECK(ToString(LogLevel::kWarning) == "warning");
  CHECK(ToString(LogLevel::kError) == "error");
  CHECK(ToString(LogLevel::kPanic) == "panic");
  CHECK(ToString(LogLevel::kOff) == "off");
}

}  // namespace
}  // namespace ergon::gen
