#include <ergon/node/metrics/user_metrics.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/striped_counter.h>
#include <ergon/core/foundations/striped_histogram.h>
#include <ergon/node/metrics/metric_checks.h>
#include <ergon/node/options/option_checks.h>

namespace ergon::node {
namespace {

UserMetrics::Labels SortedByName(UserMetrics::Labels labels) {
  std::ranges::sort(labels);
  return labels;
}

std::string NamesOf(const UserMetrics::Labels& labels) {
  std::string names;
  for (const gen::MetricLabel& label : labels) names += (names.empty() ? "" : ", ") + label.name;
  return '"' + names + '"';
}

std::string_view KindOfMetric(const UserMetrics::Metric& metric) {
  constexpr std::string_view kKinds[] = {"counter", "gauge", "histogram"};
  return kKinds[metric.index()];
}

// Of one of its metrics, as they are written.
template <class Handle>
std::size_t LinesOf(const UserMetrics::Family& family) {
  if (!std::is_same_v<Handle, gen::Histogram>) return 1;
  const int bounds = std::ilogb(family.greatest_bound) - std::ilogb(family.least_bound) + 1;
  return static_cast<std::size_t>(bounds) + 3;  // the bucket without a bound, the sum, the count
}

}  // namespace

gen::Result<void> UserMetrics::CheckFits(const Family& family, const Wanted& wanted) const {
  const auto& [labels, metric] = *wanted.family.metrics.begin();
  const auto& [other_labels, other] = *family.metrics.begin();
  if (metric.index() != other.index()) {
    return gen::Error(gen::ErrorCode::kTaken,
                      fmt::format("name: \"{}\" is a {} already, and no {}", wanted.name,
                                  KindOfMetric(other), KindOfMetric(metric)));
  }
  const auto differs = [&](std::string_view field, const auto& value, const auto& known) {
    return Incorrect(
        fmt::format("{}: {}, but \"{}\" has {} already", field, value, wanted.name, known));
  };
  const auto quoted = [](const std::string& text) { return '"' + text + '"'; };
  if (!wanted.family.help.empty() && wanted.family.help != family.help) {
    return differs("help", quoted(wanted.family.help), quoted(family.help));
  }
  if (wanted.family.unit != family.unit) {
    return differs("unit", quoted(wanted.family.unit), quoted(family.unit));
  }
  if (!std::ranges::equal(labels, other_labels, {}, &gen::MetricLabel::name,
                          &gen::MetricLabel::name)) {
    return differs("labels", NamesOf(labels), NamesOf(other_labels));
  }
  if (wanted.family.least_bound != family.least_bound) {
    return differs("least_bound", wanted.family.least_bound, family.least_bound);
  }
  if (wanted.family.greatest_bound != family.greatest_bound) {
    return differs("greatest_bound", wanted.family.greatest_bound, family.greatest_bound);
  }
  return {};
}

template <class Handle, class Make>
gen::Result<Handle> UserMetrics::FindOrMake(Wanted wanted, Make make) {
  if (fork_guard_.IsForked()) return fork_guard_.Error();
  if (addresses_.IsStopped()) return gen::ErrNodeTerminated;
  const Labels& labels = wanted.family.metrics.begin()->first;
  std::lock_guard lock(mutex_);
  auto found = families_.find(wanted.name);
  if (found != families_.end()) {
    auto fits = CheckFits(found->second, wanted);
    if (!fits) return std::move(fits.error());
    const auto known = found->second.metrics.find(labels);
    if (known != found->second.metrics.end()) return std::get<Handle>(known->second);
  } else if (wanted.family.help.empty()) {
    return Incorrect(fmt::format("help: \"\" of \"{}\" must not be empty", wanted.name));
  }
  const std::size_t lines = LinesOf<Handle>(wanted.family);
  if (count_ + lines > kMost) {
    return gen::Error(
        gen::ErrorCode::kNotAllowed,
        fmt::format("name: \"{}\": would take {} {} of /metrics; {} of {} are taken", wanted.name,
                    lines, lines == 1 ? "line" : "lines", count_, kMost));
  }
  Handle handle(make());
  if (found == families_.end()) {
    wanted.family.metrics.begin()->second = handle;
    families_.emplace(wanted.name, std::move(wanted.family));
  } else {
    found->second.metrics.emplace(labels, handle);
  }
  count_ += lines;
  return handle;
}

template <class Handle, class Make>
gen::Result<Handle> UserMetrics::Single(std::string_view name, const gen::MetricOptions& options,
                                        Make make) {
  auto checked = CheckMetric(name, options);
  if (!checked) return std::move(checked.error());
  return FindOrMake<Handle>({name,
                             {.help = options.help,
                              .unit = options.unit,
                              .metrics = {{SortedByName(options.labels), Handle()}}}},
                            make);
}

gen::Result<gen::Counter> UserMetrics::Counter(std::string_view name,
                                               const gen::MetricOptions& options) {
  return Single<gen::Counter>(name, options,
                              [] { return std::make_shared<core::StripedCounter>(); });
}

gen::Result<gen::Gauge> UserMetrics::Gauge(std::string_view name,
                                           const gen::MetricOptions& options) {
  return Single<gen::Gauge>(name, options,
                            [] { return std::make_shared<std::atomic<double>>(0.0); });
}

gen::Result<gen::Histogram> UserMetrics::Histogram(std::string_view name,
                                                   const gen::HistogramOptions& options) {
  auto checked =
      CheckMetric(name, {.help = options.help, .unit = options.unit, .labels = options.labels});
  if (checked) checked = CheckBounds(options);
  if (!checked) return std::move(checked.error());
  return FindOrMake<gen::Histogram>(
      {name,
       {.help = options.help,
        .unit = options.unit,
        .least_bound = options.least_bound,
        .greatest_bound = options.greatest_bound,
        .metrics = {{SortedByName(options.labels), gen::Histogram()}}}},
      [&] {
        return std::make_shared<core::StripedHistogram>(std::ilogb(options.least_bound),
                                                        std::ilogb(options.greatest_bound));
      });
}

UserMetrics::Families UserMetrics::All() const {
  std::lock_guard lock(mutex_);
  return families_;
}

}  // namespace ergon::node
