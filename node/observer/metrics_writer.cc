#include <ergon/node/observer/metrics_writer.h>

#include <iterator>

#include <fmt/format.h>

namespace ergon::node {
namespace {

void AppendEscaped(std::string& out, std::string_view text) {
  for (const char byte : text) {
    switch (byte) {
      case '\\':
        out += "\\\\";
        break;
      case '"':
        out += "\\\"";
        break;
      case '\n':
        out += "\\n";
        break;
      default:
        out += byte;
    }
  }
}

}  // namespace

std::string_view ContentType(MetricsFormat format) {
  return format == MetricsFormat::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

void MetricsWriter::Begin(std::string_view name, std::string_view type, std::string_view suffix,
                          std::string_view help, std::string_view unit) {
  sample_name_ = fmt::format("{}{}", name, suffix);
  const bool is_open = format_ == MetricsFormat::kOpenMetrics;
  // In the older format a family has the name of its samples, and nothing is an "info".
  const std::string_view family = is_open ? name : sample_name_;
  if (!is_open && type == "info") type = "gauge";
  auto out = std::back_inserter(text_);
  fmt::format_to(out, "# TYPE {} {}\n", family, type);
  if (is_open && !unit.empty()) fmt::format_to(out, "# UNIT {} {}\n", family, unit);
  fmt::format_to(out, "# HELP {} {}\n", family, help);
}

void MetricsWriter::Sample(double value, Labels labels) { Write(fmt::format("{}", value), labels); }

void MetricsWriter::Write(std::string_view value, Labels labels) {
  text_ += sample_name_;
  char before = '{';
  for (const auto& [name, label] : labels) {
    text_ += before;
    before = ',';
    text_ += name;
    text_ += "=\"";
    AppendEscaped(text_, label);
    text_ += '"';
  }
  if (before == ',') text_ += '}';
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

std::string MetricsWriter::Take() && {
  if (format_ == MetricsFormat::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace ergon::node
