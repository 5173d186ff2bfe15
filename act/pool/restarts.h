// When a worker that has ended is replaced, and when its pool gives up.
//
// Pure policy: times go in (any clock, nanoseconds), decisions come out.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include <ergon/act/pool_options.h>

namespace ergon::act {

class PoolRestarts {
 public:
  // A worker that has handled a message, or has lived at least for this time, was healthy: the failures of its
  // place are forgotten.
  static constexpr std::chrono::nanoseconds kHealthy = std::chrono::seconds(1);
  [[nodiscard]] static bool WasHealthy(std::uint64_t handled, std::chrono::nanoseconds lived) {
    return handled != 0 || lived >= kHealthy;
  }

  explicit PoolRestarts(const PoolOptions& options) { SetOptions(options); }
  // Uses these options from now on. What has been counted stays.
  void SetOptions(const PoolOptions& options);

  // Returns how long to wait before a worker that has ended is replaced. `failures` is a count of its place in
  // the pool, 0 at first: how many workers in a row were not healthy. The delay is zero after a healthy worker
  // and after the first failure in a row; then the minimum, doubling up to the maximum.
  [[nodiscard]] std::chrono::nanoseconds Delay(bool was_healthy, int& failures) const;

  // Notes that a worker has to be replaced. Returns true if there were too many replacements within the
  // period.
  [[nodiscard]] bool Exceeded(std::int64_t now);
  // Returns why the pool gives up, after Exceeded has returned true.
  [[nodiscard]] std::string GiveUpText() const;

 private:
  std::chrono::nanoseconds backoff_min_;
  std::chrono::nanoseconds backoff_max_;
  int max_restarts_;
  std::chrono::nanoseconds period_;
  std::deque<std::int64_t> recent_;  // times of restarts within the period, oldest first
};

}  // namespace ergon::act
