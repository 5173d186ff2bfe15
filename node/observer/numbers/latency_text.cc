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

using ByLabel = std::map<std::string, gen::HistogramView>;

// One of the histograms of each behaviour. Behaviours of one label are summed up, as they have no other name.
ByLabel ViewsOf(const std::map<std::string, BehaviorTimes>& all,
                gen::Histogram BehaviorTimes::*histogram) {
  ByLabel by_label;
  for (const auto& [behavior, times] : all) {
    gen::HistogramView view = (times.*histogram).View();
    const auto [at, is_new] = by_label.try_emplace(LabelValue(behavior), view);
    if (!is_new) AddTo(at->second, view);
  }
  return by_label;
}

// Of those that are called; most behaviours are not.
ByLabel CallsOf(const std::map<std::string, BehaviorTimes>& all, gen::HistogramView elsewhere) {
  ByLabel calls = ViewsOf(all, &BehaviorTimes::calls);
  calls.emplace("(other node)", std::move(elsewhere));
  std::erase_if(calls, [](const auto& one) { return one.second.count == 0; });
  return calls;
}

void Write(MetricsWriter& out, const ByLabel& by_label) {
  for (const auto& [label, view] : by_label) {
    out.HistogramSamples(view, {{"behavior", label}});
  }
}

}  // namespace

void WriteLatency(MetricsWriter& out, Latency& latency) {
  const auto all = latency.Behaviors();
  out.Histogram("ergon_call_seconds",
                "Time of calls of processes that were sent, from then until an answer or an error, "
                "by the behaviour of the one who was called.",
                "seconds");
  Write(out, CallsOf(all, latency.calls_elsewhere().View()));
  out.Histogram("ergon_queue_wait_seconds",
                "Time that messages, values of events and calls have waited for their handler, by "
                "behaviour.",
                "seconds");
  Write(out, ViewsOf(all, &BehaviorTimes::waiting));
  out.Histogram("ergon_handling_seconds",
                "Time that handlers have taken with a message, with their waits, by behaviour.",
                "seconds");
  Write(out, ViewsOf(all, &BehaviorTimes::handling));
}

}  // namespace ergon::node
