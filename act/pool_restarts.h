// When a worker that has ended is replaced, and when its pool gives up.
//
// Pure policy: times go in (any clock, nanoseconds), decisions come out.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include <ergon/act/pool_options.h>

namespace ergon::act {

class PoolRestarts {
 public:
  // A worker that lives at least so long is healthy: the failures before it are forgotten.
  static constexpr std::chrono::nanoseconds kHealthy = std::chrono::seconds(1);

  explicit PoolRestarts(const PoolOptions& options);

  // How long to wait before a worker is replaced that has lived for `lived` (none: it never
  // finished its Init). `quick_deaths` is the count of its place in the pool, 0 at first. Zero for
  // the end of a healthy worker and for the first quick one in a row; then the minimum, doubling to
  // the maximum.
  [[nodiscard]] std::chrono::nanoseconds Delay(std::optional<std::chrono::nanoseconds> lived,
                                               int& quick_deaths) const;

  // Notes that a worker has to be replaced; true when there were too many of them within the
  // period.
  [[nodiscard]] bool Exceeded(std::int64_t now);
  // Why the pool gives up, after Exceeded has returned true.
  [[nodiscard]] std::string GiveUpText() const;

 private:
  const std::chrono::nanoseconds backoff_min_;
  const std::chrono::nanoseconds backoff_max_;
  const int max_restarts_;
  const std::chrono::nanoseconds period_;
  std::deque<std::int64_t> recent_;  // times of restarts within the period, oldest first
};

}  // namespace ergon::act
