#include <ergon/node/observer/views/collector.h>

#include <cstdint>
#include <utility>
#include <variant>

#include <ergon/node/observer/numbers/behavior_index.h>
#include <ergon/node/observer/views/last_found.h>
#include <ergon/node/runtime/runtime.h>

namespace ergon::node {

struct Collector {
  gen::Reason operator()(gen::Process& self) const;

  std::shared_ptr<const ObserverOptions> options;
};

gen::ProcessFactory CollectorFactory(std::shared_ptr<const ObserverOptions> options) {
  return Collector{std::move(options)};
}

gen::Reason Collector::operator()(gen::Process& self) const {
  BehaviorIndex index(RuntimeOf(self.Node(), "node::ObserverFactory").addresses(),
                      static_cast<std::size_t>(options->max_behaviors));
  FiguresCollector collector(self, index, *options);
  const std::int64_t period = options->metrics_period.count();
  std::shared_ptr<const Figures> last;
  std::int64_t begun_at = 0;
  std::int64_t collected_at = 0;
  LastFound<ProcessQuery, ProcessRows> last_processes;
  LastFound<TreeQuery, TreeRows> last_tree;
  LastFound<std::size_t, WaitRows> last_waits;
  for (;;) {
    auto asked = self.Receive<gen::Asked<WantFigures>, gen::Asked<WantProcesses>,
                              gen::Asked<WantTree>, gen::Asked<WantWaits>>();
    // The observer ends with it, and with an error, unless it is being ended: nobody else collects.
    if (!asked && asked.error() != gen::ErrProcessTerminated) {
      return gen::Reason::Error("the observer's numbers: " + asked.error().ToString());
    }
    if (!asked) return {};
    // Or nobody waits any more.
    if (const auto* processes = std::get_if<gen::Asked<WantProcesses>>(&*asked)) {
      const WantProcesses& want = processes->value;
      (void)self.Reply(*processes, last_processes.For(want.query, want.asked_at, self.Now(), [&] {
        return FindProcesses(self, index, want.query);
      }));
    } else if (const auto* tree = std::get_if<gen::Asked<WantTree>>(&*asked)) {
      const WantTree& want = tree->value;
      (void)self.Reply(*tree, last_tree.For(want.query, want.asked_at, self.Now(),
                                            [&] { return FindTree(self, index, want.query); }));
    } else if (const auto* waits = std::get_if<gen::Asked<WantWaits>>(&*asked)) {
      const WantWaits& want = waits->value;
      (void)self.Reply(*waits, last_waits.For(want.limit, want.asked_at, self.Now(),
                                              [&] { return FindWaits(self, index, want.limit); }));
    }
    const auto* const figures = std::get_if<gen::Asked<WantFigures>>(&*asked);
    if (figures == nullptr) continue;
    const bool is_young = period != 0 && self.Now() - collected_at <= period;
    if (last == nullptr || (begun_at <= figures->value.asked_at && !is_young)) {
      begun_at = self.Now();
      last = std::make_shared<const Figures>(collector.Collect());
      collected_at = self.Now();
    }
    (void)self.Reply(*figures, last);
  }
}

}  // namespace ergon::node
