#include <ergon/node/observer/views/collector.h>

#include <cstdint>
#include <utility>
#include <variant>

#include <ergon/node/observer/numbers/behavior_index.h>
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
  std::int64_t collected_at = 0;
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
      (void)self.Reply(*processes, std::make_shared<const ProcessRows>(
                                       FindProcesses(self, index, processes->value.query)));
    } else if (const auto* tree = std::get_if<gen::Asked<WantTree>>(&*asked)) {
      (void)self.Reply(*tree,
                       std::make_shared<const TreeRows>(FindTree(self, index, tree->value.query)));
    } else if (const auto* waits = std::get_if<gen::Asked<WantWaits>>(&*asked)) {
      (void)self.Reply(
          *waits, std::make_shared<const WaitRows>(FindWaits(self, index, waits->value.limit)));
    }
    const auto* const figures = std::get_if<gen::Asked<WantFigures>>(&*asked);
    if (figures == nullptr) continue;
    if (last == nullptr || period == 0 || self.Now() - collected_at > period) {
      last = std::make_shared<const Figures>(collector.Collect());
      collected_at = self.Now();
    }
    (void)self.Reply(*figures, last);
  }
}

}  // namespace ergon::node
