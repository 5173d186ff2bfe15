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

  // Calls, in seconds: from the sending of a process's call to its answer or error. A call that could not be sent does
  // not count.
  [[nodiscard]] gen::Histogram& calls() noexcept { return calls_; }
  // Returns the histogram for the handlers of a behaviour, in seconds: that of "(other)" if there are kMostBehaviors
  // already.
  [[nodiscard]] gen::Histogram HandlingOf(const std::string& behavior);
  [[nodiscard]] std::map<std::string, gen::Histogram> Handling() const;  // by behaviour

 private:
  gen::Histogram calls_;
  mutable std::mutex mutex_;
  std::map<std::string, gen::Histogram> handling_;
};

}  // namespace ergon::node
