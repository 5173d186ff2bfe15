// The metrics that a program has made on its node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ergon/gen/metrics.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/spawning/fork_guard.h>

namespace ergon::node {

// Making a metric takes a lock; counting takes none. Any thread.
class UserMetrics final : public gen::Metrics {
 public:
  static constexpr std::size_t kMost = 10'000;  // lines of GET /metrics, of all names

  using Labels = std::vector<gen::MetricLabel>;  // by name
  using Metric = std::variant<gen::Counter, gen::Gauge, gen::Histogram>;
  // All metrics of one name, which are of one kind.
  struct Family {
    std::string help;
    std::string unit;
    double least_bound = 0;  // of histograms
    double greatest_bound = 0;
    std::map<Labels, Metric> metrics;
  };
  using Families = std::map<std::string, Family, std::less<>>;  // by name

  UserMetrics(const Addresses& addresses, const ForkGuard& fork_guard)
      : addresses_(addresses), fork_guard_(fork_guard) {}

  gen::Result<gen::Counter> Counter(std::string_view name,
                                    const gen::MetricOptions& options) override;
  gen::Result<gen::Gauge> Gauge(std::string_view name, const gen::MetricOptions& options) override;
  gen::Result<gen::Histogram> Histogram(std::string_view name,
                                        const gen::HistogramOptions& options) override;

  // Returns a copy, whose metrics go on counting.
  [[nodiscard]] Families All() const;

 private:
  // A metric that was asked for: a family with this metric only, which counts nothing yet.
  struct Wanted {
    std::string_view name;
    Family family;
  };
  template <class Handle, class Make>
  gen::Result<Handle> FindOrMake(Wanted wanted, Make make);
  // Finds or makes a metric that is one line of /metrics.
  template <class Handle, class Make>
  gen::Result<Handle> Single(std::string_view name, const gen::MetricOptions& options, Make make);
  // Checks a metric against those that there are. Under the lock.
  [[nodiscard]] gen::Result<void> CheckFits(const Family& family, const Wanted& wanted) const;

  const Addresses& addresses_;
  const ForkGuard& fork_guard_;
  mutable std::mutex mutex_;
  Families families_;
  std::size_t count_ = 0;  // of lines
};

}  // namespace ergon::node
