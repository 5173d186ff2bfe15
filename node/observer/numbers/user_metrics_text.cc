#include <ergon/node/observer/numbers/user_metrics_text.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ergon::node {
namespace {

void Begin(MetricsWriter& out, std::string_view name, const UserMetrics::Family& family) {
  const UserMetrics::Metric& first = family.metrics.begin()->second;
  if (std::holds_alternative<gen::Counter>(first)) {
    out.Counter(name, family.help, family.unit);
  } else if (std::holds_alternative<gen::Gauge>(first)) {
    out.Gauge(name, family.help, family.unit);
  } else {
    out.Histogram(name, family.help, family.unit);
  }
}

}  // namespace

void WriteUserMetrics(MetricsWriter& out, const UserMetrics::Families& families) {
  for (const auto& [name, family] : families) {
    Begin(out, name, family);
    for (const auto& [labels, metric] : family.metrics) {
      std::vector<MetricsWriter::Label> views;
      for (const gen::MetricLabel& label : labels) views.emplace_back(label.name, label.value);
      if (const auto* counter = std::get_if<gen::Counter>(&metric)) {
        out.Sample(counter->Value(), views);
      } else if (const auto* gauge = std::get_if<gen::Gauge>(&metric)) {
        out.Sample(gauge->Value(), views);
      } else {
        out.HistogramSamples(std::get<gen::Histogram>(metric).View(), std::move(views));
      }
    }
  }
}

}  // namespace ergon::node
