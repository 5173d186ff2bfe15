// Metrics as text, in the formats that Prometheus reads.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ergon/gen/metrics.h>

namespace ergon::node {

enum class MetricsFormat : std::uint8_t {
  kOpenMetrics,  // version 1.0.0
  kPlain,        // the older text format, version 0.0.4
};
// Returns the value of the header Content-Type.
[[nodiscard]] std::string_view ContentType(MetricsFormat format);

// Returns a number as both formats write it: 0.25, +Inf, NaN.
[[nodiscard]] std::string MetricNumber(double value);

// Writes families one after the other, each followed by its samples.
class MetricsWriter {
 public:
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;

  explicit MetricsWriter(MetricsFormat format) : format_(format) {}

  // `name` is without "_total" and "_info". `unit` is what the name ends with, or empty.
  void Gauge(std::string_view name, std::string_view help, std::string_view unit = {}) {
    Begin(name, "gauge", "", help, unit);
  }
  void Counter(std::string_view name, std::string_view help, std::string_view unit = {}) {
    Begin(name, "counter", "_total", help, unit);
  }
  void Histogram(std::string_view name, std::string_view help, std::string_view unit = {}) {
    Begin(name, "histogram", "", help, unit);
  }
  void Info(std::string_view name, std::string_view help) {
    Begin(name, "info", "_info", help, "");
  }

  template <std::integral T>
  void Sample(T value, Labels labels = {}) {
    Write("", std::to_string(value), {labels.begin(), labels.size()});
  }
  void Sample(double value, Labels labels = {});
  void Sample(std::uint64_t value, const std::vector<Label>& labels);
  void Sample(double value, const std::vector<Label>& labels);
  // Writes all samples of a histogram.
  void HistogramSamples(const gen::HistogramView& view, std::vector<Label> labels);

  // Returns the whole text. Once.
  [[nodiscard]] std::string Take() &&;

 private:
  void Begin(std::string_view name, std::string_view type, std::string_view suffix,
             std::string_view help, std::string_view unit);
  void Write(std::string_view suffix, std::string_view value, std::span<const Label> labels);

  const MetricsFormat format_;
  std::string sample_name_;
  std::string text_;
};

}  // namespace ergon::node
