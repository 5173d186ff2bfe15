#include <ergon/act/supervisor/inspection.h>

#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/inspection_items.h>

namespace ergon::act {

gen::Inspection InspectSupervisor(const SupervisorFigures& figures, gen::Inspection added,
                                  const std::vector<std::string>& items) {
  gen::Inspection all = std::move(added);
  const auto put = [&all](std::string key, const auto& value) {
    all.insert_or_assign(std::move(key), fmt::format("{}", value));
  };
  const SupervisorSpec& spec = figures.spec;
  const bool has_templates = spec.type == SupervisorType::kSimpleOneForOne;
  std::size_t running = 0;
  std::unordered_map<gen::Atom, std::size_t> numbers;
  for (const SupervisorChild& child : figures.children) {
    if (child.state == SupervisorChildState::kRunning) ++running;
    std::string key = fmt::format("child:{}", child.name);
    if (has_templates) key += fmt::format(":{}", ++numbers[child.name]);
    put(std::move(key),
        fmt::format("{} {} restarts={}{}", child.pid ? child.pid.ToString() : "nobody",
                    ToString(child.state), child.restarts,
                    child.significant ? " significant" : ""));
  }
  put("type", ToString(spec.type));
  put("strategy", ToString(spec.restart.strategy));
  put("intensity", spec.restart.intensity);
  put("period", spec.restart.period_s);
  put("restarts", figures.recent_restarts);
  put("children_total", figures.children.size());
  put("children_running", running);
  put("state", figures.ending ? "stopping" : "running");
  gen::KeepAskedFor(all, items);
  return all;
}

}  // namespace ergon::act
