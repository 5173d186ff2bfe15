#include <ergon/node/metrics/latency.h>

#include <memory>
#include <string>

#include <ergon/core/foundations/striped_histogram.h>

namespace ergon::node {
namespace {

// From 60 ns, which a handler takes that does little, to a minute.
gen::Histogram MakeHistogram() {
  return gen::Histogram(std::make_shared<core::StripedHistogram>(-24, 6));
}

}  // namespace

Latency::Latency() : calls_elsewhere_(MakeHistogram()) {}

BehaviorTimes& Latency::Of(const std::string& behavior) {
  std::lock_guard lock(mutex_);
  auto found = behaviors_.find(behavior);
  if (found != behaviors_.end()) return found->second;
  const std::string name = behaviors_.size() < kMostBehaviors ? behavior : "(other)";
  found = behaviors_.find(name);
  if (found == behaviors_.end()) {
    const BehaviorTimes times{
        .waiting = MakeHistogram(), .handling = MakeHistogram(), .calls = MakeHistogram()};
    found = behaviors_.emplace(name, times).first;
  }
  return found->second;
}

std::map<std::string, BehaviorTimes> Latency::Behaviors() const {
  std::lock_guard lock(mutex_);
  return behaviors_;
}

}  // namespace ergon::node
