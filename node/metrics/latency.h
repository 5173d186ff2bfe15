// How long calls and handlers take, for NodeOptions::measure_latency.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include <ergon/gen/metrics.h>

namespace ergon::node {

// Any thread.
class Latency {
 public:
  static constexpr std::size_t kMostBehaviors = 200;

  Latency();

  // In seconds: from when the call of a process was sent, if it could be, to its answer, or to its error.
  [[nodiscard]] gen::Histogram& calls() noexcept { return calls_; }
  // In seconds: the handlers of a behaviour. Those that have found no place of their own have "(other)".
  [[nodiscard]] gen::Histogram HandlingOf(const std::string& behavior);
  [[nodiscard]] std::map<std::string, gen::Histogram> Handling() const;  // by behaviour

 private:
  gen::Histogram calls_;
  mutable std::mutex mutex_;
  std::map<std::string, gen::Histogram> handling_;
};

}  // namespace ergon::node
