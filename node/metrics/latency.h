// How long messages wait, and how long calls and handlers take, for NodeOptions::measure_latency.
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

  // Of the messages to processes with a behaviour; in seconds.
  struct OfBehavior {
    gen::Histogram waiting;   // from the sending until the handler begins
    gen::Histogram handling;  // of the handler
  };

  Latency();

  // Calls, in seconds: from the sending of a process's call to its answer or error. A call that could not be sent does
  // not count.
  [[nodiscard]] gen::Histogram& calls() noexcept { return calls_; }
  // Returns the histograms of a behaviour: those of "(other)" if there are kMostBehaviors already.
  [[nodiscard]] OfBehavior Of(const std::string& behavior);
  [[nodiscard]] std::map<std::string, OfBehavior> Behaviors() const;

 private:
  gen::Histogram calls_;
  mutable std::mutex mutex_;
  std::map<std::string, OfBehavior> behaviors_;
};

}  // namespace ergon::node
