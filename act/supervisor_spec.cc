#include <ergon/act/supervisor_spec.h>

#include <unordered_set>

#include <fmt/core.h>

#include <ergon/act/options/option_checks.h>
#include <ergon/core/foundations/number_text.h>

namespace ergon::act {
namespace {

constexpr int kMost = 1'000'000;

std::string CheckStrategy(std::string_view name, SupervisorStrategy value) {
  if (value <= SupervisorStrategy::kTemporary) return {};
  return fmt::format("{}: {}, must be a SupervisorStrategy", name, static_cast<int>(value));
}

}  // namespace

std::string_view ToString(SupervisorType type) {
  switch (type) {
    case SupervisorType::kOneForOne:
      return "one for one";
    case SupervisorType::kAllForOne:
      return "all for one";
    case SupervisorType::kRestForOne:
      return "rest for one";
    case SupervisorType::kSimpleOneForOne:
      return "simple one for one";
  }
  return "unknown";
}

std::string_view ToString(SupervisorStrategy strategy) {
  switch (strategy) {
    case SupervisorStrategy::kPermanent:
      return "permanent";
    case SupervisorStrategy::kTransient:
      return "transient";
    case SupervisorStrategy::kTemporary:
      return "temporary";
  }
  return "unknown";
}

std::string SupervisorSpec::Validate() const {
  if (type > SupervisorType::kSimpleOneForOne) {
    return fmt::format("type: {}, must be a SupervisorType", static_cast<int>(type));
  }
  if (auto_shutdown > SupervisorAutoShutdown::kAllSignificant) {
    return fmt::format("auto_shutdown: {}, must be a SupervisorAutoShutdown",
                       static_cast<int>(auto_shutdown));
  }
  const std::string checks[] = {
      CheckStrategy("restart.strategy", restart.strategy),
      CheckRange("restart.intensity", restart.intensity, 0, kMost),
      CheckRange("restart.period_s", restart.period_s, 1, kMost),
      CheckAtLeast("restart.backoff_min", restart.backoff_min, std::chrono::nanoseconds(0)),
      CheckAtLeast("restart.backoff_max", restart.backoff_max, restart.backoff_min),
  };
  for (const std::string& problem : checks) {
    if (!problem.empty()) return problem;
  }
  if (type == SupervisorType::kSimpleOneForOne && auto_shutdown != SupervisorAutoShutdown::kNever) {
    return "auto_shutdown: must be kNever with kSimpleOneForOne";
  }
  std::unordered_set<gen::Atom> names;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::string where = fmt::format("children[{}].", i);
    std::string problem = ValidateChild(children[i], where);
    if (!problem.empty()) return problem;
    if (!names.insert(children[i].name).second) {
      return fmt::format("{}name: '{}', must be unique", where, children[i].name);
    }
  }
  return {};
}

std::string SupervisorSpec::ValidateChild(const SupervisorChildSpec& child,
                                          std::string_view where) const {
  if (child.name.empty()) return fmt::format("{}name: must not be empty", where);
  if (!child.factory) {
    return fmt::format("{}factory: is empty, as in gen::Factory<Child>() is needed", where);
  }
  if (child.shutdown_timeout < std::chrono::nanoseconds::zero()) {
    return fmt::format("{}shutdown_timeout: {}, must not be negative", where,
                       core::ExactTime(child.shutdown_timeout));
  }
  std::string problem = CheckStrategy(fmt::format("{}strategy", where), StrategyOf(child));
  if (!problem.empty() || !child.significant) return problem;
  if (auto_shutdown == SupervisorAutoShutdown::kNever) {
    return fmt::format("{}significant: true, must be false without auto_shutdown", where);
  }
  if (StrategyOf(child) == SupervisorStrategy::kPermanent) {
    return fmt::format("{}significant: true, must be false for a permanent child", where);
  }
  return {};
}

}  // namespace ergon::act
