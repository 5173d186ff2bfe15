#include <ergon/act/pool/restarts.h>

#include <fmt/core.h>

namespace ergon::act {

void PoolRestarts::SetOptions(const PoolOptions& options) {
  backoff_min_ = options.restart_backoff_min;
  backoff_max_ = options.restart_backoff_max;
  max_restarts_ = options.max_restarts;
  period_ = options.restart_period;
}

std::chrono::nanoseconds PoolRestarts::Delay(bool was_healthy, int& failures) const {
  if (was_healthy) {
    failures = 0;
    return std::chrono::nanoseconds::zero();
  }
  if (++failures == 1) return std::chrono::nanoseconds::zero();
  std::chrono::nanoseconds delay = backoff_min_;
  // Halving the maximum instead of doubling the delay cannot overflow.
  for (int i = 2; i < failures; ++i) {
    if (delay > backoff_max_ / 2) return backoff_max_;
    delay *= 2;
  }
  return delay;
}

bool PoolRestarts::Exceeded(std::int64_t now) {
  if (max_restarts_ == 0) return false;
  while (!recent_.empty() && now - recent_.front() > period_.count()) recent_.pop_front();
  recent_.push_back(now);
  return recent_.size() > static_cast<std::size_t>(max_restarts_);
}

std::string PoolRestarts::GiveUpText() const {
  const auto period = std::chrono::duration_cast<std::chrono::milliseconds>(period_);
  return fmt::format("worker restarts: {} within {} ms exceed max_restarts {}", recent_.size(),
                     period.count(), max_restarts_);
}

}  // namespace ergon::act
