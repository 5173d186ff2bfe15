#include <ergon/act/pool_options.h>

#include <cstdint>
#include <limits>

#include <fmt/core.h>

#include <ergon/act/options/option_checks.h>

namespace ergon::act {
namespace {

std::string CheckMailbox(const PoolOptions& options) {
  const bool is_default = options.worker_mailbox.bound() == 0 && !options.worker_mailbox.HasQueue();
  if (options.worker_mailbox_size != 0 && !is_default) {
    return fmt::format("worker_mailbox_size: {}, but worker_mailbox is given too: {}",
                       options.worker_mailbox_size, options.worker_mailbox.ToString());
  }
  const std::string problem = options.worker_mailbox.Validate();
  return problem.empty() ? problem : "worker_" + problem;
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

std::string PoolOptions::Validate() const {
  using std::chrono::nanoseconds;
  if (worker_factory.IsFunction()) {
    return "worker_factory: a function; a worker is a behaviour, as act::Actor";
  }
  if (!worker_factory) return "worker_factory: is empty, as in gen::Factory<Worker>() is needed";
  const std::string checks[] = {
      CheckRange("pool_size", pool_size, 1, kMaxPoolSize),
      CheckRange("worker_mailbox_size", worker_mailbox_size, 0, kMaxMailboxSize),
      CheckMailbox(*this),
      CheckStrategy(*this),
      CheckAtLeast("admission_limit", admission_limit, nanoseconds(0)),
      CheckAtLeast("restart_backoff_min", restart_backoff_min, nanoseconds(1)),
      CheckAtLeast("restart_backoff_max", restart_backoff_max, restart_backoff_min),
      CheckRange("max_restarts", max_restarts, 0, std::numeric_limits<int>::max()),
      CheckAtLeast("restart_period", restart_period, nanoseconds(1)),
      CheckAtLeast("worker_init_timeout", worker_init_timeout, nanoseconds(1)),
      CheckAtLeast("shutdown_timeout", shutdown_timeout, nanoseconds(0)),
  };
  for (const std::string& problem : checks) {
    if (!problem.empty()) return problem;
  }
  return {};
}

}  // namespace ergon::act
