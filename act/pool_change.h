// What of a pool's options may be changed while it runs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <ergon/act/pool_options.h>

namespace ergon::act {

// What is given becomes the value of the field of PoolOptions with that name, which says what it means; the rest
// stays. In the pool's own handlers see Pool::Change; others send it as a request of high or max priority, to which
// the pool answers by itself:
//
//   node.Call("thumbnails", act::PoolChange{.admission_limit = 50ms}, {.priority = gen::MessagePriority::kHigh});
struct PoolChange {
  using Reply = bool;  // true; what is wrong is the request's error, and nothing has changed then

  // As with AddWorkers and RemoveWorkers.
  std::optional<int> pool_size = std::nullopt;
  // Of each worker, now and later. What waits already stays, though it may be more.
  std::optional<int> worker_mailbox_size = std::nullopt;
  // For messages that are sent from now on.
  std::optional<std::chrono::nanoseconds> admission_limit = std::nullopt;
  // For ends of workers from now on.
  std::optional<std::chrono::nanoseconds> restart_backoff_min = std::nullopt;
  std::optional<std::chrono::nanoseconds> restart_backoff_max = std::nullopt;
  std::optional<int> max_restarts = std::nullopt;
  std::optional<std::chrono::nanoseconds> restart_period = std::nullopt;
  std::optional<std::chrono::nanoseconds> shutdown_timeout = std::nullopt;

  // The options with the change, valid or not (PoolOptions::Validate).
  [[nodiscard]] PoolOptions Of(const PoolOptions& options) const;
};

// What is different, as in "max_restarts: 3, was 0".
[[nodiscard]] std::vector<std::string> Differences(const PoolOptions& now,
                                                   const PoolOptions& before);

}  // namespace ergon::act
