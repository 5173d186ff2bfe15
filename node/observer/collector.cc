#include <ergon/node/observer/collector.h>

#include <cstdint>
#include <variant>

#include <ergon/node/observer/behavior_index.h>
#include <ergon/node/runtime/runtime.h>

namespace ergon::node {

gen::Reason Collector::operator()(gen::Process& self) const {
  BehaviorIndex index(RuntimeOf(self.Node(), "node::ObserverFactory").addresses(),
                      static_cast<std::size_t>(state->settings.options.max_behaviors));
  FiguresCollector collector(self, index, state->settings);
  const std::int64_t period = state->settings.options.metrics_period.count();
  std::shared_ptr<const Figures> last;
  std::int64_t collected_at = 0;
  for (;;) {
    auto asked = self.Receive<gen::Asked<WantFigures>, gen::Asked<WantProcesses>>();
    // The observer ends with it, and with an error, unless it is being ended: nobody else collects.
    if (!asked && asked.error() != gen::ErrProcessTerminated) {
      return gen::Reason::Error("the observer's numbers: " + asked.error().ToString());
    }
    if (!asked) return {};
    if (const auto* processes = std::get_if<gen::Asked<WantProcesses>>(&*asked)) {
      (void)self.Reply(*processes, std::make_shared<const ProcessRows>(
                                       FindProcesses(self, index, processes->value.query)));
      continue;
    }
    if (last == nullptr || period == 0 || self.Now() - collected_at > period) {
      last = std::make_shared<const Figures>(collector.Collect());
      collected_at = self.Now();
    }
    (void)self.Reply(std::get<gen::Asked<WantFigures>>(*asked), last);  // or nobody waits any more
  }
}

}  // namespace ergon::node
