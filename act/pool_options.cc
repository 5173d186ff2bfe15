#include <ergon/act/pool_options.h>

#include <chrono>

#include <fmt/core.h>

#include <ergon/act/options/option_checks.h>
#include <ergon/act/pool_change.h>

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
      ChangeableOf(*this).Validate(),
      CheckMailbox(*this),
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
