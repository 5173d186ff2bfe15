#include <ergon/act/pool_change.h>

#include <utility>

#include <fmt/core.h>

namespace ergon::act {
namespace {

template <class Value>
void Take(const std::optional<Value>& change, Value& value) {
  if (change) value = *change;
}

class Comparison {
 public:
  Comparison(const PoolOptions& now, const PoolOptions& before) : now_(now), before_(before) {}

  void Compare(const char* name, int PoolOptions::*field) {
    if (now_.*field == before_.*field) return;
    found_.push_back(fmt::format("{}: {}, was {}", name, now_.*field, before_.*field));
  }
  void Compare(const char* name, std::chrono::nanoseconds PoolOptions::*field) {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    if (now_.*field == before_.*field) return;
    found_.push_back(fmt::format("{}: {} ms, was {} ms", name, Milliseconds(now_.*field).count(),
                                 Milliseconds(before_.*field).count()));
  }
  [[nodiscard]] std::vector<std::string> found() && { return std::move(found_); }

 private:
  const PoolOptions& now_;
  const PoolOptions& before_;
  std::vector<std::string> found_;
};

}  // namespace

PoolOptions PoolChange::Of(const PoolOptions& options) const {
  PoolOptions changed = options;
  Take(pool_size, changed.pool_size);
  Take(worker_mailbox_size, changed.worker_mailbox_size);
  Take(admission_limit, changed.admission_limit);
  Take(restart_backoff_min, changed.restart_backoff_min);
  Take(restart_backoff_max, changed.restart_backoff_max);
  Take(max_restarts, changed.max_restarts);
  Take(restart_period, changed.restart_period);
  Take(shutdown_timeout, changed.shutdown_timeout);
  return changed;
}

std::vector<std::string> Differences(const PoolOptions& now, const PoolOptions& before) {
  Comparison comparison(now, before);
  comparison.Compare("pool_size", &PoolOptions::pool_size);
  comparison.Compare("worker_mailbox_size", &PoolOptions::worker_mailbox_size);
  comparison.Compare("admission_limit", &PoolOptions::admission_limit);
  comparison.Compare("restart_backoff_min", &PoolOptions::restart_backoff_min);
  comparison.Compare("restart_backoff_max", &PoolOptions::restart_backoff_max);
  comparison.Compare("max_restarts", &PoolOptions::max_restarts);
  comparison.Compare("restart_period", &PoolOptions::restart_period);
  comparison.Compare("shutdown_timeout", &PoolOptions::shutdown_timeout);
  return std::move(comparison).found();
}

}  // namespace ergon::act
