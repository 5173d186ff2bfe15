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

// One of the two histograms of each behaviour. Behaviours of one label are summed up, as they have no other name.
void WriteByBehavior(MetricsWriter& out, const std::map<std::string, Latency::OfBehavior>& all,
                     gen::Histogram Latency::OfBehavior::*histogram) {
  std::map<std::string, gen::HistogramView> by_label;
  for (const auto& [behavior, histograms] : all) {
    gen::HistogramView view = (histograms.*histogram).View();
    const auto [at, is_new] = by_label.try_emplace(LabelValue(behavior), view);
    if (!is_new) AddTo(at->second, view);
  }
  for (const auto& [label, view] : by_label) {
    out.HistogramSamples(view, {{"behavior", label}});
  }
}

}  // namespace

void WriteLatency(MetricsWriter& out, Latency& latency) {
  out.Histogram("ergon_call_seconds",
                "Time of calls of processes that were sent, from then until an answer or an error.",
                "seconds");
  out.HistogramSamples(latency.calls().View(), {});
  const auto all = latency.Behaviors();
  out.Histogram("ergon_queue_wait_seconds",
                "Time that messages and calls of processes have waited for their handler, by "
                "behaviour.",
                "seconds");
  WriteByBehavior(out, all, &Latency::OfBehavior::waiting);
  out.Histogram("ergon_handling_seconds",
                "Time that handlers have taken with a message, with their waits, by behaviour.",
                "seconds");
  WriteByBehavior(out, all, &Latency::OfBehavior::handling);
}

}  // namespace ergon::node
