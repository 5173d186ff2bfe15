#include <ergon/node/observer/numbers/metrics.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ergon/node/observer/numbers/program_figures.h>
#include <ergon/node/texts/clean_text.h>

#include <node/observer/json.h>
#include <node/observer/numbers/metrics_reader.h>
#include <node/observer/observed.h>

namespace ergon::node::observer_test {

// With numbers of its own for each question.
static ObserverOptions Fresh(ObserverOptions options = {}) {
  options.metrics_period = 0ns;
  return options;
}

TEST_CASE("metrics are OpenMetrics text, and account for all messages") {
  Observed t(Fresh());
  auto pool = t.StartPool(3, 1'000);
  REQUIRE(t.node.RegisterName("hashes", pool.pid()));
  constexpr int kMessages = 500;
  for (int i = 0; i < kMessages; ++i) REQUIRE(t.node.Send(pool.pid(), kit::Job{i}));
  REQUIRE(pool.EventuallyHandled(kMessages));
  // One message that nobody handles.
  const gen::PID gone = t.node.Spawn(gen::Factory<kit::Worker>(t.workers)).value();
  REQUIRE(t.node.Suspend(gone));
  REQUIRE(t.node.Send(gone, kit::Job{1}));
  REQUIRE(t.node.Kill(gone));
  REQUIRE(t.node.WaitProcess(gone, kit::kDeadline));

  // A worker may have to count its last message yet.
  CHECK(kit::Eventually(
      [&] { return MetricsReader(t.Get("/metrics").body)["ergon_messages_unaccounted"] == 0; }));
  // The pool with its workers, the observer with its helpers: the connections before have gone.
  REQUIRE(kit::Eventually([&] { return t.node.Info().processes == 7; }));
  // Who has sent a message may count it after it was handled.
  kit::HttpAnswer answer;
  REQUIRE(kit::Eventually([&] {
    answer = t.Get("/metrics");
    return MetricsReader(answer.body)["ergon_messages_unaccounted"] == 0;
  }));
  CHECK(answer.status == 200);
  CHECK(answer.Header("content-type") ==
        "application/openmetrics-text; version=1.0.0; charset=utf-8");
  const MetricsReader metrics(answer.body);
  CHECK(metrics["ergon_pool_workers{pool=\"hashes\"}"] == 3);
  CHECK(metrics["ergon_pool_workers_busy{pool=\"hashes\"}"] == 0);
  CHECK(metrics["ergon_pool_messages_queued{pool=\"hashes\"}"] == 0);
  CHECK(metrics["ergon_pool_messages_forwarded_total{pool=\"hashes\"}"] == kMessages);
  CHECK(metrics["ergon_pool_messages_handled_total{pool=\"hashes\"}"] == kMessages);
  CHECK(metrics["ergon_pool_messages_refused_total{pool=\"hashes\"}"] == 0);
  CHECK(metrics["ergon_behavior_processes{behavior=\"ergon::kit::Worker\"}"] == 3);
  CHECK(metrics["ergon_behavior_processes{behavior=\"ergon::node::Observer\"}"] == 1);
  CHECK(metrics["ergon_messages_dropped_total{reason=\"terminated\"}"] == 1);
  CHECK(metrics["ergon_messages_handled_total"] >= kMessages);
  CHECK(metrics["ergon_messages_unaccounted"] == 0);
  CHECK(metrics["ergon_messages_accepted_total"] ==
        metrics["ergon_messages_handled_total"] + metrics.Sum("ergon_messages_dropped_total") +
            metrics["ergon_messages_queued"] + metrics["ergon_messages_held"] +
            metrics["ergon_messages_sent_to_nodes_total"]);
  CHECK(metrics.Sum("ergon_processes_in_state") == metrics["ergon_processes"]);
  CHECK(metrics.Sum("ergon_behavior_processes") == metrics["ergon_processes"]);
  CHECK(metrics["ergon_processes_failed_total"] == 1);
  CHECK(metrics["ergon_dispatcher_workers"] == t.node.Info().workers);
  CHECK(metrics["ergon_dispatcher_turns_total"] > 0);
  CHECK(metrics["ergon_uptime_seconds"] > 0);
  CHECK(metrics["process_resident_memory_bytes"] > 0);
  CHECK(metrics["process_open_fds"] > 0);
  CHECK(metrics["process_threads"] > 1);
  CHECK(metrics["process_start_time_seconds"] > 1e9);
  CHECK(metrics["ergon_connections{state=\"up\"}"] == 0);
  CHECK(answer.body.find("<test@localhost.") == std::string::npos);  // no PID
}

TEST_CASE("metrics show what waits, and a pool that refuses") {
  Observed t(Fresh());
  auto pool = t.StartPool(1, 2);
  kit::Gate gate(t.node);
  t.HoldEach(gate, pool.Workers());
  CHECK(t.node.Send(pool.pid(), kit::Job{1}));
  CHECK(t.node.Send(pool.pid(), kit::Job{2}));
  CHECK(t.node.Send(pool.pid(), kit::Job{3}).error() == gen::ErrProcessMailboxFull);
  const MetricsReader metrics(t.Get("/metrics").body);
  const std::string label = "{pool=\"ergon::kit::ManagedPool\"}";
  CHECK(metrics["ergon_pool_workers_busy" + label] == 1);
  CHECK(metrics["ergon_pool_messages_queued" + label] == 2);
  CHECK(metrics["ergon_pool_messages_refused_total" + label] == 1);
  CHECK(metrics["ergon_mailbox_messages{behavior=\"ergon::kit::Worker\"}"] == 2);
  CHECK(metrics["ergon_mailbox_longest_messages{behavior=\"ergon::kit::Worker\"}"] == 2);
  CHECK(metrics["ergon_messages_queued"] == 2);
  gate.Open();
}

TEST_CASE("of a pool's workers no more are busy than there are: those that leave are told apart") {
  Observed t(Fresh());
  auto pool = t.StartPool(3);
  kit::Gate gate(t.node);
  t.HoldEach(gate, pool.Workers());
  REQUIRE(pool.Shrink(2).value() == 1);
  const MetricsReader metrics(t.Get("/metrics").body);
  const std::string label = "{pool=\"ergon::kit::ManagedPool\"}";
  CHECK(metrics["ergon_pool_workers" + label] == 1);
  CHECK(metrics["ergon_pool_workers_busy" + label] == 1);
  CHECK(metrics["ergon_pool_workers_leaving" + label] == 2);
  const Tree pools = ParseJson(t.Get("/api/pools"));
  const Tree& told = pools.get_child("pools").front().second;
  CHECK(told.get<int>("busy") == 1);
  CHECK(told.get<int>("leaving") == 2);
  gate.Open();
}

TEST_CASE("a pool that ends is shown as long as its workers have something to handle") {
  Observed t(Fresh());
  auto options = t.Options(1);
  options.shutdown_timeout = 10 * kit::kDeadline;
  auto pool = t.StartPool(options);
  kit::Gate gate(t.node);
  t.HoldEach(gate, pool.Workers());
  for (int i = 0; i < 3; ++i) REQUIRE(t.node.Send(pool.pid(), kit::Job{i}));
  const std::string label = "{pool=\"ergon::kit::ManagedPool\"}";
  CHECK(MetricsReader(t.Get("/metrics").body)["ergon_pool_messages_queued" + label] == 3);
  REQUIRE(t.node.SendExit(pool.pid(), gen::Reason::Shutdown()));
  REQUIRE(kit::Eventually(
      [&] { return t.node.Inspect(pool.pid()).value().at("state") == "stopping"; }));
  const MetricsReader metrics(t.Get("/metrics").body);
  CHECK(metrics["ergon_pools"] == 1);
  REQUIRE(metrics.Has("ergon_pool_messages_queued" + label));
  CHECK(metrics["ergon_pool_messages_queued" + label] == 3);
  gate.Open();
  REQUIRE(t.EventuallyGone(pool.pid()));
  CHECK(MetricsReader(t.Get("/metrics").body)["ergon_pools"] == 0);
}

TEST_CASE("names that users choose are labels, escaped") {
  Observed t(Fresh());
  const gen::Atom name("a\"b\\c\nd\r<script>\xff");
  const auto pool = t.StartPool(1);
  REQUIRE(t.node.RegisterName(name, pool.pid()));
  const MetricsReader metrics(t.Get("/metrics").body);
  CHECK(metrics["ergon_pool_workers{pool=\"a\\\"b\\\\c\\nd\xef\xbf\xbd<script>\xef\xbf\xbd\"}"] ==
        1);
}

TEST_CASE("the values of a label are bounded, and pools of one name are summed up") {
  Observed t(Fresh({.max_behaviors = 1, .max_pools = 2}));
  for (int i = 0; i < 3; ++i) (void)t.StartPool(2);
  const MetricsReader metrics(t.Get("/metrics").body);
  CHECK(metrics["ergon_behavior_processes{behavior=\"(other)\"}"] >= 9);
  CHECK(metrics["ergon_pools"] == 3);
  CHECK(metrics["ergon_pools_not_asked"] == 1);
  CHECK(metrics["ergon_pool_workers{pool=\"ergon::kit::ManagedPool\"}"] == 4);
}

TEST_CASE("a pool that does not answer keeps its last numbers") {
  Observed t(Fresh({.pools_timeout = 20ms}));
  const auto pool = t.StartPool(2);
  const std::string workers = "ergon_pool_workers{pool=\"ergon::kit::ManagedPool\"}";
  REQUIRE(kit::Eventually([&] {
    const MetricsReader metrics(t.Get("/metrics").body);
    return metrics.Has(workers) && metrics[workers] == 2;
  }));
  HeldPool held(pool);
  const MetricsReader metrics(t.Get("/metrics").body);
  CHECK(metrics["ergon_pools_unanswered"] == 1);
  CHECK(metrics[workers] == 2);
  held.gate.Open();
}

TEST_CASE("the counters of pools with one name do not fall when one of them ends") {
  Observed t(Fresh({.pools_timeout = 1min}));
  const auto start = [&](int messages) {
    auto pool = t.StartPool(1);
    for (int i = 0; i < messages; ++i) REQUIRE(t.node.Send(pool.pid(), kit::Job{i}));
    REQUIRE(pool.EventuallyHandled(messages));
    return pool.pid();
  };
  const auto metric = [&](const std::string& name) {
    return MetricsReader(t.Get("/metrics").body)[name + "{pool=\"ergon::kit::ManagedPool\"}"];
  };
  const gen::PID first = start(7);
  (void)start(5);
  CHECK(metric("ergon_pool_messages_handled_total") == 12);
  REQUIRE(t.node.StopProcess(first, kit::kDeadline));
  CHECK(metric("ergon_pool_messages_handled_total") == 12);
  CHECK(metric("ergon_pool_workers") == 1);
  (void)start(3);
  CHECK(metric("ergon_pool_messages_handled_total") == 15);
  CHECK(metric("ergon_pool_messages_forwarded_total") == 15);
}

TEST_CASE("a pool that gets a name takes none of what was counted from its behaviour") {
  Observed t(Fresh({.pools_timeout = 1min}));
  auto pool = t.StartPool(1);
  (void)t.StartPool(1);  // so that the behaviour stays
  const auto handle = [&](int messages, int in_all) {
    for (int i = 0; i < messages; ++i) REQUIRE(t.node.Send(pool.pid(), kit::Job{i}));
    REQUIRE(pool.EventuallyHandled(in_all));
  };
  const auto handled = [&](const std::string& label) {
    return MetricsReader(
        t.Get("/metrics").body)["ergon_pool_messages_handled_total{pool=\"" + label + "\"}"];
  };
  handle(4, 4);
  CHECK(handled("ergon::kit::ManagedPool") == 4);
  REQUIRE(t.node.RegisterName("named", pool.pid()));
  handle(2, 6);
  CHECK(handled("ergon::kit::ManagedPool") == 4);
  CHECK(handled("named") == 2);
}

TEST_CASE("pools behind others that do not answer are asked in their turn") {
  Observed t(Fresh({.pools_timeout = 100ms}), {.workers = 16});  // each held one has a thread
  std::vector<std::unique_ptr<HeldPool>> held;
  for (int i = 0; i < 10; ++i) held.push_back(std::make_unique<HeldPool>(t.StartPool(1)));
  REQUIRE(t.node.RegisterName("healthy", t.StartPool(1).pid()));
  REQUIRE(t.node.RegisterName("healthy_too", t.StartPool(2).pid()));
  CHECK(kit::Eventually([&] {
    const MetricsReader metrics(t.Get("/metrics").body);
    return metrics.Has("ergon_pool_workers{pool=\"healthy\"}") &&
           metrics.Has("ergon_pool_workers{pool=\"healthy_too\"}");
  }));
  for (const auto& pool : held) pool->gate.Open();
}

TEST_CASE("numbers that are young are told again") {
  Observed t({.metrics_period = 1h});
  auto orders = t.node.Metrics().Counter("shop_orders", {.help = "Orders."}).value();
  const std::string first = t.Get("/metrics").body;
  (void)t.node.Spawn(gen::Factory<kit::Worker>(t.workers));
  orders.Add();
  CHECK(t.Get("/metrics").body == first);
  // In the older format, too, with the same numbers.
  const auto plain = [&] {
    return t.Ask(GetText("/metrics", "Host: localhost\r\nAccept: text/plain\r\n")).body;
  };
  const std::string first_plain = plain();
  CHECK(first_plain != first);
  orders.Add();
  CHECK(plain() == first_plain);
  const auto spawned = [](const std::string& metrics) {
    const std::size_t at = metrics.find("\nergon_processes_spawned_total ");
    return metrics.substr(at, metrics.find('\n', at + 1) - at);
  };
  CHECK(spawned(first_plain) == spawned(first));
  CHECK(t.Get("/metrics").body == first);
}

TEST_CASE("applications are told by name") {
  Observed t(Fresh());
  const gen::ApplicationSpec shop{.name = "shop",
                                  .processes = {{.factory = gen::Factory<kit::Worker>(t.workers)}}};
  REQUIRE(t.node.LoadApplication(shop));
  const std::string running = "ergon_application_running{application=\"shop\"}";
  CHECK(MetricsReader(t.Get("/metrics").body)[running] == 0);
  REQUIRE(t.node.StartApplication("shop"));
  CHECK(MetricsReader(t.Get("/metrics").body)[running] == 1);
}

TEST_CASE("who knows only the older format gets that, and promtool finds no fault with it") {
  Observed t(Fresh(), {.measure_latency = true});
  (void)t.StartPool(1);
  t.node.Metrics().Counter("shop_requests", {.help = "Requests."}).value().Add();
  t.node.Metrics()
      .Histogram("shop_wait_seconds",
                 {.help = "Waits.", .unit = "seconds", .labels = {{"kind", "a \"b\""}}})
      .value()
      .Observe(250ms);
  const auto ask = [&](const char* accept) {
    return t.Ask(GetText("/metrics", std::string("Host: localhost\r\nAccept: ") + accept + "\r\n"));
  };
  CHECK(ask("*/*").Header("content-type").starts_with("application/openmetrics-text"));
  CHECK(ask("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
            .Header("content-type")
            .starts_with("application/openmetrics-text"));
  const auto plain = ask("text/plain");
  CHECK(plain.Header("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(plain.body.find("# EOF") == std::string::npos);
  CHECK(plain.body.find("# TYPE ergon_messages_handled_total counter\n") != std::string::npos);
  CHECK(plain.body.find("# TYPE ergon_node_info gauge\n") != std::string::npos);

  if (std::system("command -v promtool >/dev/null 2>&1") != 0) {
    MESSAGE("left out: promtool is not installed (Debian's package prometheus)");
    return;
  }
  const auto path = std::filesystem::temp_directory_path() /
                    ("ergon-observer-metrics-" + std::to_string(::getpid()));
  std::ofstream(path) << plain.body;
  CHECK(std::system(("promtool check metrics <" + path.string()).c_str()) == 0);
  std::filesystem::remove(path);
}

TEST_CASE("the value of a label is UTF-8 of bounded length") {
  CHECK(LabelValue("plain") == "plain");
  CHECK(LabelValue("gr\xc3\xbcn \t\x7f") == "gr\xc3\xbcn \xef\xbf\xbd\xef\xbf\xbd");
  CHECK(LabelValue("\xc3") == "\xef\xbf\xbd");
  // Control characters of two bytes, too, as that with which a terminal's sequences begin.
  CHECK(LabelValue("\xc2\x80 \xc2\x9b \xc2\x9f \xc2\xa0") ==
        "\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd \xc2\xa0");
  CHECK(LabelValue(std::string(1'000, 'x')).size() <= 200);
  CHECK(LabelValue("").empty());
}

// While one lives, the program has no file descriptor left.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit few = before_;
    few.rlim_cur = 256;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (int number = 0; number >= 0;) {
      number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (number >= 0) opened_.push_back(number);
    }
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() {
    for (const int number : opened_) (void)::close(number);
    (void)::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_ = {};
  std::vector<int> opened_;
};

TEST_CASE("program figures: without a descriptor to read them nothing is said that is wrong") {
  const ProgramFigures usual = ReadProgramFigures();
  CHECK(usual.threads >= 1);
  CHECK(usual.started_at > 0);
  CHECK(usual.open_descriptors >= 3);
  ProgramFigures without;
  {
    const NoDescriptors none;
    without = ReadProgramFigures();
  }
  CHECK(without.most_descriptors == 256);
  CHECK(without.open_descriptors == 256);
  CHECK(without.started_at == usual.started_at);
  CHECK(without.threads == 0);  // not known, which has no sample
  CHECK(without.resident_bytes == 0);
}

TEST_CASE("metrics with a unit say so") {
  MetricsWriter writer(MetricsFormat::kOpenMetrics);
  writer.Gauge("wait_seconds", "Time.", "seconds");
  writer.Sample(0.25, {{"who", "a\"b"}, {"where", "c\\d\n"}});
  CHECK(std::move(writer).Take() ==
        "# TYPE wait_seconds gauge\n# UNIT wait_seconds seconds\n# HELP wait_seconds Time.\n"
        "wait_seconds{who=\"a\\\"b\",where=\"c\\\\d\\n\"} 0.25\n# EOF\n");
}

}  // namespace ergon::node::observer_test
