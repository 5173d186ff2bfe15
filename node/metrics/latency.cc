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

Latency::Latency() : calls_(MakeHistogram()) {}

gen::Histogram Latency::HandlingOf(const std::string& behavior) {
  std::lock_guard lock(mutex_);
  auto found = handling_.find(behavior);
  if (found != handling_.end()) return found->second;
  const std::string name = handling_.size() < kMostBehaviors ? behavior : "(other)";
  found = handling_.find(name);
  if (found == handling_.end()) found = handling_.emplace(name, MakeHistogram()).first;
  return found->second;
}

std::map<std::string, gen::Histogram> Latency::Handling() const {
  std::lock_guard lock(mutex_);
  return handling_;
}

}  // namespace ergon::node
