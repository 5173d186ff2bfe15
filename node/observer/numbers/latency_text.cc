#include <ergon/node/observer/numbers/latency_text.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ergon/node/texts/clean_text.h>

namespace ergon::node {
namespace {

void AddTo(gen::HistogramView& sum, const gen::HistogramView& view) {
  for (std::size_t i = 0; i < view.buckets.size(); ++i)
    sum.buckets[i].count += view.buckets[i].count;
  sum.count += view.count;
  sum.sum += view.sum;
}

}  // namespace

void WriteLatency(MetricsWriter& out, Latency& latency) {
  out.Histogram("ergon_call_seconds",
                "Time of calls of processes that were sent, from then until an answer or an error.",
                "seconds");
  out.HistogramSamples(latency.calls().View(), {});
  // Behaviours of one label are summed up, as they have no other name.
  std::map<std::string, gen::HistogramView> by_label;
  for (const auto& [behavior, histogram] : latency.Handling()) {
    gen::HistogramView view = histogram.View();
    const auto [at, is_new] = by_label.try_emplace(LabelValue(behavior), view);
    if (!is_new) AddTo(at->second, view);
  }
  out.Histogram("ergon_handling_seconds",
                "Time that handlers have taken with a message, with their waits, by behaviour.",
                "seconds");
  for (const auto& [label, view] : by_label) {
    out.HistogramSamples(view, {{"behavior", label}});
  }
}

}  // namespace ergon::node
