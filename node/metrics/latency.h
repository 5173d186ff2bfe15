// How long messages wait, and how long calls and handlers take, for NodeOptions::measure_latency.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include <ergon/gen/metrics.h>
#include <ergon/node/process_state/behavior_times.h>

namespace ergon::node {

// Any thread.
class Latency {
 public:
  static constexpr std::size_t kMostBehaviors = 200;

  Latency();

  // Returns the times of a behaviour, which stay where they are: those of "(other)" if there are kMostBehaviors
  // already.
  [[nodiscard]] BehaviorTimes& Of(const std::string& behavior);
  [[nodiscard]] std::map<std::string, BehaviorTimes> Behaviors() const;
  // Calls to processes of other nodes, whose behaviours are not known here; in seconds.
  [[nodiscard]] gen::Histogram& calls_elsewhere() noexcept { return calls_elsewhere_; }

 private:
  gen::Histogram calls_elsewhere_;
  mutable std::mutex mutex_;
  std::map<std::string, BehaviorTimes> behaviors_;
};

}  // namespace ergon::node
