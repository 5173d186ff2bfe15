#include <ergon/act/pool/make_forwarder.h>

#include <ergon/act/pool/broadcast_forwarder.h>
#include <ergon/act/pool/queue_forwarder.h>
#include <ergon/act/pool/rotation_forwarder.h>

namespace ergon::act {

std::unique_ptr<PoolForwarder> MakeForwarder(gen::PoolHost& host, PoolRouting& routing,
                                             PoolCounters& counters, const PoolOptions& options) {
  if (options.strategy.kind() == PoolStrategy::Kind::kBroadcast) {
    return std::make_unique<PoolBroadcastForwarder>(host, routing, counters, options);
  }
  if (options.strategy.IsPlacedByPool()) {
    return std::make_unique<PoolQueueForwarder>(host, routing, counters, options);
  }
  return std::make_unique<PoolRotationForwarder>(host, routing, counters, options);
}

}  // namespace ergon::act
