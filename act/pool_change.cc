#include <ergon/act/pool_change.h>

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
  return changed;
}

PoolChange ChangeableOf(const PoolOptions& options) {
  return {.pool_size = options.pool_size,
          .worker_mailbox_size = options.worker_mailbox_size,
          .admission_limit = options.admission_limit,
          .restart_backoff_min = options.restart_backoff_min,
          .restart_backoff_max = options.restart_backoff_max,
          .max_restarts = options.max_restarts,
          .restart_period = options.restart_period,
          .shutdown_timeout = options.shutdown_timeout};
}

std::vector<std::string> Differences(const PoolOptions& now, const PoolOptions& before) {
  const PoolChange all = ChangeableOf(now);
  const PoolChange all_before = ChangeableOf(before);
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
