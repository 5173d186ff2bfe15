#include <ergon/act/pool_options.h>

#include <chrono>

#include <fmt/core.h>

#include <ergon/act/options/option_checks.h>

namespace ergon::act {
namespace {

std::string CheckMailbox(const PoolOptions& options) {
  if (options.worker_mailbox_size != 0 && options.worker_mailbox.IsChosen()) {
    return fmt::format("worker_mailbox_size: {}, but worker_mailbox is given too: {}",
                       options.worker_mailbox_size, options.worker_mailbox.ToString());
  }
  const std::string problem = options.worker_mailbox.Validate();
  return problem.empty() ? problem : "worker_" + problem;
}

std::string CheckAutoscale(const PoolOptions& options) {
  if (!options.autoscale) return {};
  if (options.strategy.kind() == PoolStrategy::Kind::kBroadcast) {
    return "autoscale: not with the strategy broadcast, where each worker handles all messages, "
           "however many there are";
  }
  std::string problem = options.autoscale->Validate();
  if (!problem.empty()) return problem;
  problem =
      CheckRange("pool_size", options.pool_size, options.autoscale->min, options.autoscale->max);
  return problem.empty() ? problem : problem + ", the bounds of autoscale";
}

std::string CheckStrategy(const PoolOptions& options) {
  const bool is_broadcast = options.strategy.kind() == PoolStrategy::Kind::kBroadcast;
  if (is_broadcast && options.admission_limit.count() != 0) {
    return "admission_limit: must be 0 with the strategy broadcast, which has as many waits as "
           "workers";
  }
  if (is_broadcast || !options.strategy.IsPlacedByPool() || !options.worker_mailbox.HasOwnOrder())
    return {};
  return fmt::format("strategy: {}, but worker_mailbox has an order of its own: {}",
                     options.strategy.ToString(), options.worker_mailbox.ToString());
}

}  // namespace

gen::PoolChange PoolOptions::Changeable() const {
  gen::PoolChange all{.pool_size = pool_size,
                      .worker_mailbox_size = WorkerBound(),
                      .admission_limit = admission_limit,
                      .restart_backoff_min = restart_backoff_min,
                      .restart_backoff_max = restart_backoff_max,
                      .max_restarts = max_restarts,
                      .restart_period = restart_period,
                      .shutdown_timeout = shutdown_timeout};
  if (!autoscale) return all;
  all.autoscale_min = autoscale->min;
  all.autoscale_max = autoscale->max;
  all.autoscale_target_wait = autoscale->target_wait;
  all.autoscale_target_utilization = autoscale->target_utilization;
  all.autoscale_shrink_after = autoscale->shrink_after;
  return all;
}

std::string PoolOptions::Validate() const {
  using std::chrono::nanoseconds;
  if (worker_factory.IsFunction()) {
    return "worker_factory: makes a process function; workers must be behaviours, such as "
           "act::Actor";
  }
  if (!worker_factory) return "worker_factory: is empty, as in gen::Factory<Worker>() is needed";
  const std::string checks[] = {
      CheckAutoscale(*this),
      CheckMailbox(*this),  // first: the bound of worker_mailbox is told as such
      Changeable().Validate(),
      CheckStrategy(*this),
      CheckAtLeast("restart_backoff_max", restart_backoff_max, restart_backoff_min),
      CheckAtLeast("worker_init_timeout", worker_init_timeout, nanoseconds(1)),
  };
  for (const std::string& problem : checks) {
    if (!problem.empty()) return problem;
  }
  return {};
}

}  // namespace ergon::act
