#include <ergon/act/pool_autoscale.h>

#include <utility>

#include <fmt/core.h>

#include <ergon/act/options/option_checks.h>
#include <ergon/gen/pool_change.h>

namespace ergon::act {

std::string PoolAutoscale::Validate() const {
  std::string checks[] = {
      CheckRange("autoscale.min", min, 1, gen::kMaxPoolSize),
      CheckRange("autoscale.max", max, 1, gen::kMaxPoolSize),
      max < min ? fmt::format("autoscale.max: {} is less than autoscale.min: {}", max, min)
                : std::string(),
      CheckAtLeast("autoscale.target_wait", target_wait, std::chrono::nanoseconds(1)),
      CheckAtMost("autoscale.target_wait", target_wait, gen::kMaxAutoscaleTargetWait),
      // Not the other way round: it may be no number.
      target_utilization > 0 && target_utilization < 1
          ? std::string()
          : fmt::format("autoscale.target_utilization: {}, must be more than 0 and less than 1",
                        target_utilization),
      CheckAtLeast("autoscale.shrink_after", shrink_after, gen::kMinAutoscaleShrinkAfter),
      CheckAtMost("autoscale.shrink_after", shrink_after, gen::kMaxAutoscaleShrinkAfter),
  };
  for (std::string& problem : checks) {
    if (!problem.empty()) return std::move(problem);
  }
  return {};
}

}  // namespace ergon::act
