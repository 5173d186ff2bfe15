// The metrics that a program counts itself: which ones it may make, that nothing is lost, and what an observer tells of
// them.
#include <ergon/node/metrics/user_metrics.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/gen/metrics.h>

#include <ergon/node/observer/numbers/metrics_writer.h>

#include <node/observer/numbers/metrics_reader.h>
#include <node/observer/observed.h>

namespace ergon::node::observer_test {

static std::string TextOf(const auto& result) {
  return result ? "it was made" : std::string(result.error().detail());
}

TEST_CASE("own metrics: a name and its labels are one metric, whoever asks") {
  kit::NodeFixture t;
  gen::Metrics& metrics = t.node.Metrics();
  gen::Counter first =
      metrics.Counter("shop_requests", {.help = "Requests.", .labels = {{"kind", "price"}}})
          .value();
  // The help may be left out, and labels have no order.
  gen::Counter again = metrics.Counter("shop_requests", {.labels = {{"kind", "price"}}}).value();
  gen::Counter other = metrics.Counter("shop_requests", {.labels = {{"kind", "order"}}}).value();
  first.Add();
  again.Add(2);
  CHECK(first.Value() == 3);
  CHECK(other.Value() == 0);
  gen::Gauge gauge =
      metrics.Gauge("depth", {.help = "Depth.", .labels = {{"a", "1"}, {"b", "2"}}}).value();
  metrics.Gauge("depth", {.labels = {{"b", "2"}, {"a", "1"}}}).value().Set(4);
  CHECK(gauge.Value() == 4);
  gen::Histogram sizes =
      metrics.Histogram("sizes", {.help = "Sizes.", .least_bound = 1, .greatest_bound = 4}).value();
  metrics.Histogram("sizes", {.least_bound = 1, .greatest_bound = 4}).value().Observe(3);
  CHECK(sizes.View().count == 1);
}

TEST_CASE("own metrics: processes and threads count at the same time, and nothing is lost") {
  constexpr int kProcesses = 4;
  constexpr std::uint64_t kEach = 10'000;
  kit::NodeFixture t;
  gen::Counter counter = t.node.Metrics().Counter("counted", {.help = "All."}).value();
  std::vector<gen::PID> pids;
  for (int i = 0; i < kProcesses; ++i) {
    pids.push_back(t.node
                       .Spawn([](gen::Process& self) {
                         auto own = self.Node().Metrics().Counter("counted", {}).value();
                         for (std::uint64_t n = 0; n < kEach; ++n) own.Add();
                       })
                       .value());
  }
  std::jthread([&] {
    for (std::uint64_t n = 0; n < kEach; ++n) counter.Add();
  }).join();
  for (const gen::PID pid : pids) REQUIRE(t.node.WaitProcess(pid, kit::kDeadline));
  CHECK(counter.Value() == (kProcesses + 1) * kEach);
}

TEST_CASE("own metrics: a wrong name is refused with words") {
  kit::NodeFixture t;
  const auto say = [&](std::string_view name) {
    return TextOf(t.node.Metrics().Counter(name, {.help = "Help."}));
  };
  const std::string rule = " must be 1..200 letters, digits and \"_\", and not begin with a digit";
  CHECK(say("") == "name: \"\"" + rule);
  CHECK(say("9a") == "name: \"9a\"" + rule);
  CHECK(say("a-b") == "name: \"a-b\"" + rule);
  CHECK(say("a:b") == "name: \"a:b\"" + rule);
  CHECK(say("gr\xc3\xbcn") == "name: \"gr\xc3\xbcn\"" + rule);
  CHECK(say(std::string(201, 'x')).ends_with(rule));
  CHECK(say(std::string(200, 'x')) == "it was made");
  CHECK(say("ergon_processes") ==
        "name: \"ergon_processes\" begins with \"ergon_\", as the node's own metrics");
  CHECK(say("process_threads") ==
        "name: \"process_threads\" begins with \"process_\", as the node's own metrics");
  CHECK(say("a_total") ==
        "name: \"a_total\" ends with \"_total\", which is added where a metric is written");
  for (const char* name : {"a_info", "a_created", "a_bucket", "a_count", "a_sum"}) {
    CHECK(say(name).find("which is added where a metric is written") != std::string::npos);
  }
}

TEST_CASE("own metrics: a wrong option is refused with words") {
  kit::NodeFixture t;
  gen::Metrics& metrics = t.node.Metrics();
  const auto say = [&](gen::MetricOptions options) {
    if (options.help.empty()) options.help = "Help.";
    return TextOf(metrics.Gauge("size_bytes", options));
  };
  CHECK(TextOf(metrics.Gauge("size_bytes", {})) ==
        "help: \"\" of \"size_bytes\" must not be empty");
  CHECK(say({.help = std::string(1'001, 'x')}) == "help: has 1001 bytes, more than 1000");
  CHECK(say({.help = "\xff"}) == "help: is not UTF-8");
  CHECK(say({.help = std::string("a\0b", 3)}) == "help: has the control character \\x00");
  CHECK(say({.unit = "a b"}) == "unit: \"a b\" must be letters, digits and \"_\"");
  CHECK(say({.unit = "seconds"}) ==
        "unit: \"seconds\", but the name \"size_bytes\" does not end with \"_seconds\"");
  CHECK(say({.labels = {{"a b", ""}}}) ==
        "labels: \"a b\" must be 1..200 letters, digits and \"_\", and not begin with a digit");
  CHECK(say({.labels = {{"__a", ""}}}) ==
        "labels: \"__a\" begins with \"__\", as those of Prometheus itself");
  CHECK(say({.labels = {{"a", "1"}, {"a", "2"}}}) == "labels: \"a\" is there twice");
  CHECK(say({.labels = {{"a", "\xff"}}}) == "labels: the value of \"a\": is not UTF-8");
  CHECK(say({.labels = {{"a", "\r"}}}) ==
        "labels: the value of \"a\": has the control character \\x0d");
  CHECK(say({.labels = {{"a", std::string(201, 'x')}}}) ==
        "labels: the value of \"a\": has 201 bytes, more than 200");
  CHECK(say({.labels = std::vector<gen::MetricLabel>(17)}) == "labels: 17 are more than 16");
  CHECK(say({}) == "it was made");

  const auto bounds = [&](double least, double greatest) {
    return TextOf(metrics.Histogram(
        "h", {.help = "Help.", .least_bound = least, .greatest_bound = greatest}));
  };
  CHECK(bounds(0.3, 1) == "least_bound: 0.3 must be a power of two, 2^-40..2^60");
  CHECK(bounds(0, 1) == "least_bound: 0 must be a power of two, 2^-40..2^60");
  CHECK(bounds(1, -2) == "greatest_bound: -2 must be a power of two, 2^-40..2^60");
  CHECK(bounds(1, 0x1p61).starts_with("greatest_bound: "));
  CHECK(bounds(2, 1) == "least_bound: 2 is more than greatest_bound, 1");
  CHECK(bounds(0x1p-40, 0x1p24).ends_with("makes 65 bounds, more than 64"));
  CHECK(TextOf(metrics.Histogram("h", {.help = "Help.", .labels = {{"le", "1"}}})) ==
        "labels: \"le\" is the bound of a histogram's bucket");
  CHECK(bounds(0x1p-40, 0x1p23) == "it was made");
}

TEST_CASE("own metrics: a name keeps its kind, its help, its unit, its labels and its bounds") {
  kit::NodeFixture t;
  gen::Metrics& metrics = t.node.Metrics();
  REQUIRE(metrics.Gauge("a_bytes", {.help = "A.", .unit = "bytes", .labels = {{"x", ""}}}));
  const auto taken = metrics.Counter("a_bytes", {.unit = "bytes", .labels = {{"x", ""}}});
  CHECK(taken.error() == gen::ErrTaken);
  CHECK(TextOf(taken) == "name: \"a_bytes\" is a gauge already, and no counter");
  CHECK(TextOf(metrics.Gauge("a_bytes", {.labels = {{"x", ""}}})) ==
        "unit: \"\", but \"a_bytes\" has \"bytes\" already");
  CHECK(TextOf(metrics.Gauge("a_bytes", {.help = "B.", .unit = "bytes", .labels = {{"x", ""}}})) ==
        "help: \"B.\", but \"a_bytes\" has \"A.\" already");
  CHECK(TextOf(metrics.Gauge("a_bytes", {.unit = "bytes", .labels = {{"y", ""}, {"z", ""}}})) ==
        "labels: \"y, z\", but \"a_bytes\" has \"x\" already");
  REQUIRE(metrics.Histogram("h", {.help = "H."}));
  CHECK(TextOf(metrics.Histogram("h", {.least_bound = 1})) ==
        "least_bound: 1, but \"h\" has 9.5367431640625e-07 already");
  CHECK(TextOf(metrics.Histogram("h", {.greatest_bound = 128})) ==
        "greatest_bound: 128, but \"h\" has 64 already");
}

TEST_CASE("own metrics: they have 10,000 lines at most, and those that there are can be had") {
  kit::NodeFixture t;
  gen::Metrics& metrics = t.node.Metrics();
  const auto make = [&](std::size_t i) {
    return metrics.Gauge("many", {.help = "Many.", .labels = {{"i", std::to_string(i)}}});
  };
  const auto make_histogram = [&](const char* label) {
    return metrics.Histogram("sizes", {.help = "Sizes.",
                                       .labels = {{"of", label}},
                                       .least_bound = 1,
                                       .greatest_bound = 4});  // with the values of 6 lines
  };
  REQUIRE(make_histogram("a"));
  const std::size_t gauges = UserMetrics::kMost - 6 - 5;
  for (std::size_t i = 0; i < gauges; ++i) REQUIRE(make(i));
  const auto more = make_histogram("b");
  CHECK(more.error() == gen::ErrNotAllowed);
  CHECK(TextOf(more) == "name: \"sizes\": would take 6 lines of /metrics; 9995 of 10000 are taken");
  for (std::size_t i = 0; i < 5; ++i) REQUIRE(make(gauges + i));
  CHECK(TextOf(metrics.Gauge("other", {.help = "One."})) ==
        "name: \"other\": would take 1 line of /metrics; 10000 of 10000 are taken");
  CHECK(make(7));
  CHECK(make_histogram("a"));
}

TEST_CASE("own metrics: a node that has stopped makes none, and those that there are go on") {
  kit::NodeFixture t;
  gen::Counter counter = t.node.Metrics().Counter("a", {.help = "A."}).value();
  t.node.Stop();
  CHECK(t.node.Metrics().Counter("a", {.help = "A."}).error() == gen::ErrNodeTerminated);
  counter.Add();
  CHECK(counter.Value() == 1);
}

TEST_CASE("own metrics: an observer tells them as OpenMetrics") {
  Observed t({.metrics_period = 0ns});
  gen::Metrics& own = t.node.Metrics();
  own.Counter("shop_requests",
              {.help = "Requests \"so far\" \\ in\nall.", .labels = {{"kind", "a\"b\\c\nd"}}})
      .value()
      .Add(7);
  own.Gauge("shop_fill_ratio", {.help = "Fill.", .unit = "ratio"}).value().Set(0.25);
  gen::Histogram sizes = own.Histogram("shop_order_bytes", {.help = "Orders.",
                                                            .unit = "bytes",
                                                            .labels = {{"kind", "x"}},
                                                            .least_bound = 0.5,
                                                            .greatest_bound = 2})
                             .value();
  for (const double size : {0.25, 1.0, 1.5, 99.0}) sizes.Observe(size);
  const std::string body = t.Get("/metrics").body;
  const MetricsReader metrics(body);
  CHECK(metrics["shop_requests_total{kind=\"a\\\"b\\\\c\\nd\"}"] == 7);
  CHECK(metrics["shop_fill_ratio"] == 0.25);
  CHECK(metrics["ergon_processes"] > 0);
  CHECK(body.find("# HELP shop_requests Requests \\\"so far\\\" \\\\ in\\nall.\n") !=
        std::string::npos);
  CHECK(body.find("# TYPE shop_fill_ratio gauge\n# UNIT shop_fill_ratio ratio\n"
                  "# HELP shop_fill_ratio Fill.\nshop_fill_ratio 0.25\n") != std::string::npos);
  CHECK(body.find("# TYPE shop_order_bytes histogram\n# UNIT shop_order_bytes bytes\n"
                  "# HELP shop_order_bytes Orders.\n"
                  "shop_order_bytes_bucket{kind=\"x\",le=\"0.5\"} 1\n"
                  "shop_order_bytes_bucket{kind=\"x\",le=\"1.0\"} 2\n"
                  "shop_order_bytes_bucket{kind=\"x\",le=\"2.0\"} 3\n"
                  "shop_order_bytes_bucket{kind=\"x\",le=\"+Inf\"} 4\n"
                  "shop_order_bytes_sum{kind=\"x\"} 101.75\n"
                  "shop_order_bytes_count{kind=\"x\"} 4\n") != std::string::npos);
  const std::string plain =
      t.Ask(GetText("/metrics", "Host: localhost\r\nAccept: text/plain\r\n")).body;
  CHECK(plain.find("# HELP shop_requests_total Requests \"so far\" \\\\ in\\nall.\n"
                   "shop_requests_total{kind=\"a\\\"b\\\\c\\nd\"} 7\n") != std::string::npos);
  CHECK(plain.find("# TYPE shop_order_bytes histogram\n") != std::string::npos);
}

TEST_CASE("numbers of metrics are written as both formats have them") {
  CHECK(MetricNumber(0.25) == "0.25");
  CHECK(MetricNumber(3) == "3");
  CHECK(MetricNumber(HUGE_VAL) == "+Inf");
  CHECK(MetricNumber(-HUGE_VAL) == "-Inf");
  CHECK(MetricNumber(std::nan("")) == "NaN");
}

}  // namespace ergon::node::observer_test
