#include <ergon/node/observer/numbers/metrics_writer.h>

#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace ergon::node {
namespace {

void AppendEscaped(std::string& out, std::string_view text, bool escapes_quotes = true) {
  for (const char byte : text) {
    switch (byte) {
      case '\\':
        out += "\\\\";
        break;
      case '"':
        out += escapes_quotes ? "\\\"" : "\"";
        break;
      case '\n':
        out += "\\n";
        break;
      default:
        out += byte;
    }
  }
}

// A bound is a number with a point or an exponent, so that all who write it write the same.
std::string BoundText(double bound) {
  std::string text = MetricNumber(bound);
  if (text.find_first_of(".eI") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string MetricNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  return fmt::format("{}", value);
}

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
  fmt::format_to(out, "# HELP {} ", family);
  AppendEscaped(text_, help, is_open);
  text_ += '\n';
}

void MetricsWriter::Sample(double value, Labels labels) {
  Write("", MetricNumber(value), {labels.begin(), labels.size()});
}
void MetricsWriter::Sample(std::uint64_t value, const std::vector<Label>& labels) {
  Write("", std::to_string(value), labels);
}
void MetricsWriter::Sample(double value, const std::vector<Label>& labels) {
  Write("", MetricNumber(value), labels);
}

void MetricsWriter::HistogramSamples(const gen::HistogramView& view, std::vector<Label> labels) {
  labels.emplace_back("le", "");
  for (const gen::HistogramView::Bucket& bucket : view.buckets) {
    const std::string bound = BoundText(bucket.bound);
    labels.back().second = bound;
    Write("_bucket", std::to_string(bucket.count), labels);
  }
  labels.pop_back();
  Write("_sum", MetricNumber(view.sum), labels);
  Write("_count", std::to_string(view.count), labels);
}

void MetricsWriter::Write(std::string_view suffix, std::string_view value,
                          std::span<const Label> labels) {
  text_ += sample_name_;
  text_ += suffix;
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
