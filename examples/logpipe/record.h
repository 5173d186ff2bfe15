// What a line of a log says: "<PRI>TAG: TEXT", the shape of syslog (RFC 3164) without its date and host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace logpipe {

// A line as it has come, without its end.
struct Line {
  std::string text;
};

// The severities of syslog, the worst first.
inline constexpr int kSeverities = 8;
[[nodiscard]] std::string_view NameOfSeverity(int severity);  // as in "warning"
[[nodiscard]] std::optional<int> SeverityOf(std::string_view name);

struct Record {
  int severity = 0;
  std::string tag;  // the program that writes
  std::string text;

  // One line of JSON.
  [[nodiscard]] std::string ToJson() const;
};

// None: the line has another shape.
[[nodiscard]] std::optional<Record> Parse(std::string_view line);
// The part of a line that is the tag; empty: it has none.
[[nodiscard]] std::string_view TagOf(std::string_view line);

}  // namespace logpipe
