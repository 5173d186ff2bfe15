#include <ergon/node/observer/views/collector.h>

#include <chrono>
#include <utility>
#include <variant>

#include <ergon/gen/node.h>
#include <ergon/node/observer/numbers/behavior_index.h>
#include <ergon/node/observer/views/last_found.h>
#include <ergon/node/observer/views/relation_views.h>
#include <ergon/node/observer/views/views.h>
#include <ergon/node/observer/views/waits.h>
#include <ergon/node/runtime/runtime.h>

namespace ergon::node {
namespace {

constexpr std::chrono::milliseconds kInspectTimeout{500};

// What was found last of each.
class Views {
  // For LastFound. Before its uses, which have to know its type.
  [[nodiscard]] auto Clock() const {
    return [this] { return self_.Now(); };
  }

 public:
  Views(gen::Process& self, const ObserverOptions& options)
      : self_(self),
        index_(RuntimeOf(self.Node(), "node::ObserverFactory").addresses(),
               static_cast<std::size_t>(options.max_behaviors)),
        collector_(self, index_, options),
        figures_(options.metrics_period),
        processes_(options.metrics_period),
        tree_(options.metrics_period),
        waits_(options.metrics_period),
        process_(options.metrics_period),
        events_(options.metrics_period),
        cluster_(options.metrics_period) {}

  SharedText For(const WantMetrics& want) {
    auto& last = want.format == MetricsFormat::kPlain ? plain_metrics_ : metrics_;
    return TextOf(last, want.asked,
                  [&](const Figures& it) { return MetricsText(it, want.observer, want.format); });
  }
  SharedText For(const WantNode& want) {
    return TextOf(node_, want.asked, [&](const Figures& it) { return NodeJson(it, want.actions); });
  }
  SharedText For(const WantPools& want) { return TextOf(pools_, want.asked, PoolsJson); }
  SharedText For(const WantProcesses& want) {
    return processes_.For(want.query, want.asked, Clock(),
                          [&] { return ProcessesJson(FindProcesses(self_, index_, want.query)); });
  }
  SharedText For(const WantTree& want) {
    return tree_.For(want.query, want.asked, Clock(), [&] {
      const TreeRows tree = FindTree(self_, index_, want.query);
      return tree.rows.empty() ? std::string() : TreeJson(tree);
    });
  }
  SharedText For(const WantWaits& want) {
    return waits_.For(want.limit, want.asked, Clock(),
                      [&] { return WaitsJson(FindWaits(self_, index_, want.limit)); });
  }
  SharedText For(const WantProcess& want) {
    return process_.For(want.pid, want.asked, Clock(), [&] { return OneProcess(want.pid); });
  }
  SharedText For(const WantEvents& want) {
    return events_.For({}, want.asked, Clock(), [&] { return EventsJson(self_.Node()); });
  }
  SharedText For(const WantCluster& want) {
    return cluster_.For({}, want.asked, Clock(), [&] { return ClusterJson(self_.Node()); });
  }

 private:
  // The text that was made of some figures.
  struct TextOfFigures {
    std::shared_ptr<const Figures> figures;
    SharedText text;
  };

  std::shared_ptr<const Figures> FiguresFor(const AskedWhen& asked) {
    return figures_.For({}, asked, Clock(), [this] { return collector_.Collect(); });
  }
  template <class Make>
  SharedText TextOf(TextOfFigures& last, const AskedWhen& asked, Make make) {
    auto figures = FiguresFor(asked);
    if (figures != last.figures) {
      last.text = std::make_shared<const std::string>(make(*figures));
      last.figures = std::move(figures);
    }
    return last.text;
  }

  [[nodiscard]] std::string OneProcess(gen::PID pid) const {
    const Runtime& runtime = RuntimeOf(self_.Node(), "node::ObserverFactory");
    auto info = runtime.inspection().ProcessInfo(pid, kMostRelations);
    if (!info) return {};
    info->application = runtime.applications().NameOf(info->leader);
    gen::Result<gen::Inspection> told = gen::Inspection();
    // It would wait for itself.
    if (pid != self_.Self()) told = self_.Inspect(pid, {}, {.timeout = kInspectTimeout});
    return ProcessJson(*info, runtime.inspection().LinksOf(pid, kMostRelations), told);
  }

  gen::Process& self_;
  BehaviorIndex index_;
  FiguresCollector collector_;
  LastFound<std::monostate, Figures> figures_;
  TextOfFigures metrics_;
  TextOfFigures plain_metrics_;
  TextOfFigures node_;
  TextOfFigures pools_;
  LastFound<ProcessQuery, std::string> processes_;
  LastFound<TreeQuery, std::string> tree_;
  LastFound<std::size_t, std::string> waits_;
  LastFound<gen::PID, std::string> process_;
  LastFound<std::monostate, std::string> events_;
  LastFound<std::monostate, std::string> cluster_;
};

}  // namespace

struct Collector {
  gen::Reason operator()(gen::Process& self) const;

  std::shared_ptr<const ObserverOptions> options;
};

gen::ProcessFactory CollectorFactory(std::shared_ptr<const ObserverOptions> options) {
  return Collector{std::move(options)};
}

gen::Reason Collector::operator()(gen::Process& self) const {
  Views views(self, *options);
  for (;;) {
    auto asked =
        self.Receive<gen::Asked<WantMetrics>, gen::Asked<WantNode>, gen::Asked<WantPools>,
                     gen::Asked<WantProcesses>, gen::Asked<WantTree>, gen::Asked<WantWaits>,
                     gen::Asked<WantProcess>, gen::Asked<WantEvents>, gen::Asked<WantCluster>>();
    // The observer ends with it, and with an error, unless it is being ended: nobody else collects.
    if (!asked && asked.error() != gen::ErrProcessTerminated) {
      return gen::Reason::Error("the observer's numbers: " + asked.error().ToString());
    }
    if (!asked) return {};
    // Or nobody waits any more.
    std::visit([&](const auto& want) { (void)self.Reply(want, views.For(want.value)); }, *asked);
  }
}

}  // namespace ergon::node
