#include <ergon/node/metrics/latency.h>

#include <memory>

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
  const auto found = handling_.find(behavior);
  if (found != handling_.end()) return found->second;
  const bool has_place = handling_.size() < kMostBehaviors;
  return handling_.try_emplace(has_place ? behavior : "(other)", MakeHistogram()).first->second;
}

std::map<std::string, gen::Histogram> Latency::Handling() const {
  std::lock_guard lock(mutex_);
  return handling_;
}

}  // namespace ergon::node
