// Numbers that a program counts itself, for those who observe its node: counters, gauges and histograms. The observer's
// GET /metrics (<ergon/node/observer.h>) shows them beside the node's own.
//
//   auto requests = node.Metrics().Counter(
//       "shop_requests", {.help = "Requests.", .labels = {{"kind", "price"}}}).value();
//   requests.Add();      // shop_requests_total{kind="price"} 1
//
//   auto sizes = node.Metrics().Histogram("shop_order_bytes", {.help = "Orders.", .unit = "bytes",
//                                                   .least_bound = 64, .greatest_bound = 65'536}).value();
//   sizes.Observe(700);  // shop_order_bytes_bucket{le="1024.0"} 1, and so on
//
// A metric stays for as long as its node runs. Asking for the same name and labels again returns the same metric: a
// process that asks in its Init continues the count of its predecessor. Do not use as a label what changes with each
// request, such as a customer's number: each value makes one more metric, which stays.
//
// Counter, Gauge and Histogram are handles: copies count the same, and they may outlive the node. A default-constructed
// handle counts nothing. Any thread may use a metric, also several threads the same one, without a lock. A counter has
// 32 cells, 2 KiB in all, and a histogram 32 rows of cells, 8 KiB with the usual bounds, so that
// threads that count at the same time do not slow each other down. A gauge, which is set to a value, has one cell.
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ergon/gen/result.h>

namespace ergon::core {
class StripedCounter;
class StripedHistogram;
}  // namespace ergon::core

namespace ergon::gen {

// What tells metrics of one name apart, as in {kind="price"}.
struct MetricLabel {
  // 1..200 letters, digits and "_", and begins neither with a digit nor with "__"; a histogram has no "le" of its own.
  std::string name;
  // UTF-8 without control characters, except for line ends, up to 200 bytes.
  std::string value;
  friend auto operator<=>(const MetricLabel&, const MetricLabel&) = default;
};

struct MetricOptions {
  // What it counts, for people: UTF-8 without control characters, except for line ends, 1..1,000 bytes. May be left out
  // when a name is asked for again.
  std::string help = {};
  // Letters, digits and "_", best one of Prometheus' base units: "seconds", "bytes", "ratio". The name must end with
  // the unit, as in "shop_order_bytes". Empty: there is no unit.
  std::string unit = {};
  // Up to 16. All metrics of a name have labels of the same names, with different values.
  std::vector<MetricLabel> labels = {};
};

struct HistogramOptions {
  // These as in MetricOptions.
  std::string help = {};
  std::string unit = {};
  std::vector<MetricLabel> labels = {};
  // Powers of two, 2^-40..2^60. The upper bounds of the buckets are these two and all powers of two between them, at
  // most 64. A value above the greatest bound is counted in a bucket without a bound. The defaults are for times in
  // seconds, from a microsecond to a minute.
  double least_bound = 0x1p-20;
  double greatest_bound = 64;
};

// Counts events; never goes down.
class Counter {
 public:
  Counter() = default;  // counts nothing
  // For the runtime.
  explicit Counter(std::shared_ptr<core::StripedCounter> cells) : cells_(std::move(cells)) {}

  // Ignores 2^63 and more, such as a converted negative number.
  void Add(std::uint64_t amount = 1) noexcept;
  // Returns the count, which is exact when no thread adds; 0 if it counts nothing.
  [[nodiscard]] std::uint64_t Value() const noexcept;

 private:
  std::shared_ptr<core::StripedCounter> cells_;
};

// Shows how much there is of something now.
class Gauge {
 public:
  Gauge() = default;  // counts nothing
  // For the runtime.
  explicit Gauge(std::shared_ptr<std::atomic<double>> cell) : cell_(std::move(cell)) {}

  void Set(double value) noexcept;
  void Add(double amount) noexcept;  // may be negative
  [[nodiscard]] double Value() const noexcept;

 private:
  std::shared_ptr<std::atomic<double>> cell_;
};

// A moment's view of a histogram.
struct HistogramView {
  struct Bucket {
    double bound = 0;         // the upper bound, inclusive; infinity for the last
    std::uint64_t count = 0;  // of the values in this bucket and in all below
  };
  std::vector<Bucket> buckets;
  std::uint64_t count = 0;  // of all values: the count of the last bucket
  double sum = 0;           // of all values
};

// Counts values by size.
class Histogram {
 public:
  Histogram() = default;  // counts nothing
  // For the runtime.
  explicit Histogram(std::shared_ptr<core::StripedHistogram> cells) : cells_(std::move(cells)) {}

  // Counts a value in the histogram's unit. A value that is negative, infinite or NaN counts as 0.
  void Observe(double value) noexcept;
  // Counts a time, in seconds.
  void Observe(std::chrono::nanoseconds time) noexcept {
    Observe(std::chrono::duration<double>(time).count());
  }
  // Returns a view, which is exact when no thread counts; empty if the histogram counts nothing.
  [[nodiscard]] HistogramView View() const;

 private:
  std::shared_ptr<core::StripedHistogram> cells_;
};

// The metrics of a node, see Node::Metrics. Any thread, also inside handlers. Errors, which name the field and its
// value:
//   kIncorrect       the name: 1..200 letters, digits and "_", no digit first. It must not begin with "ergon_" or
//                    "process_", which are the node's own, nor end with "_total", "_info", "_created", "_bucket",
//                    "_count" or "_sum", which the observer adds. Or an option, by itself or because it differs from
//                    what the name has already: the help, the unit, the names of the labels, the bounds of a histogram
//   kTaken           the name belongs to a metric of another kind
//   kNotAllowed      the program's metrics would take more than 10,000 lines of GET /metrics. A histogram takes a line
//                    for each bound and three more, other metrics take one
//   kNodeTerminated  the node has stopped
class Metrics {
 public:
  // Returns the metric with that name and these labels. Makes it if there is none.
  virtual Result<gen::Counter> Counter(std::string_view name, const MetricOptions& options) = 0;
  virtual Result<gen::Gauge> Gauge(std::string_view name, const MetricOptions& options) = 0;
  virtual Result<gen::Histogram> Histogram(std::string_view name,
                                           const HistogramOptions& options) = 0;

 protected:
  ~Metrics() = default;
};

}  // namespace ergon::gen
