#include <ergon/act/pool_change.h>

#include <algorithm>

#include <fmt/core.h>

namespace ergon::act {
namespace {

template <class Value>
void Take(const std::optional<Value>& change, Value& value) {
  if (change) value = *change;
}

std::string TextOf(int value) { return fmt::format("{}", value); }
std::string TextOf(std::chrono::nanoseconds value) {
  return fmt::format("{} ms", std::chrono::duration<double, std::milli>(value).count());
}

}  // namespace

PoolOptions Changed(const PoolOptions& options, const PoolChange& change) {
  PoolOptions changed = options;
  Take(change.pool_size, changed.pool_size);
  Take(change.worker_mailbox_size, changed.worker_mailbox_size);
  Take(change.admission_limit, changed.admission_limit);
  Take(change.restart_backoff_min, changed.restart_backoff_min);
  Take(change.restart_backoff_max, changed.restart_backoff_max);
  Take(change.max_restarts, changed.max_restarts);
  Take(change.restart_period, changed.restart_period);
  Take(change.shutdown_timeout, changed.shutdown_timeout);
  if (!changed.autoscale) return changed;
  PoolAutoscale& autoscale = *changed.autoscale;
  Take(change.autoscale_min, autoscale.min);
  Take(change.autoscale_max, autoscale.max);
  Take(change.autoscale_target_wait, autoscale.target_wait);
  const bool has_bounds = change.autoscale_min || change.autoscale_max;
  if (has_bounds && !change.pool_size && autoscale.min <= autoscale.max) {
    changed.pool_size = std::clamp(changed.pool_size, autoscale.min, autoscale.max);
  }
  return changed;
}

std::string Misfit(const PoolOptions& options, const PoolChange& change) {
  if (options.autoscale) return {};
  const auto text = [](const char* name, const std::string& value) {
    return fmt::format("{}: {}, but the pool has no autoscale", name, value);
  };
  if (change.autoscale_min) return text("autoscale_min", TextOf(*change.autoscale_min));
  if (change.autoscale_max) return text("autoscale_max", TextOf(*change.autoscale_max));
  if (!change.autoscale_target_wait) return {};
  return text("autoscale_target_wait", TextOf(*change.autoscale_target_wait));
}

std::vector<std::string> Differences(const PoolOptions& now, const PoolOptions& before) {
  const PoolChange all = now.Changeable();
  const PoolChange all_before = before.Changeable();
  std::vector<std::string> found;
  for (const gen::PoolChangeField& field : gen::PoolChangeFields()) {
    std::visit(
        [&](auto member) {
          if (all.*member == all_before.*member) return;
          found.push_back(fmt::format("{}: {}, was {}", field.name, TextOf(*(all.*member)),
                                      TextOf(*(all_before.*member))));
        },
        field.member);
  }
  return found;
}

}  // namespace ergon::act
