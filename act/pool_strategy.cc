#include <ergon/act/pool_strategy.h>

namespace ergon::act {

std::string_view PoolStrategy::ToString() const noexcept {
  switch (kind_) {
    case Kind::kRotation:
      return "rotation";
    case Kind::kLeastLoaded:
      return "least loaded";
    case Kind::kRandom:
      return "random";
    case Kind::kByKey:
      return "by key";
    case Kind::kSharedQueue:
      return "shared queue";
    case Kind::kBroadcast:
      return "broadcast";
  }
  return "unknown";
}

}  // namespace ergon::act
