// Makes the forwarder that a pool's strategy needs.
#pragma once

#include <memory>

#include <ergon/act/pool/forwarder.h>

namespace ergon::act {

// Returns the forwarder for `options.strategy`. All arguments outlive it.
[[nodiscard]] std::unique_ptr<PoolForwarder> MakeForwarder(gen::PoolHost& host,
                                                           PoolRouting& routing,
                                                           PoolCounters& counters,
                                                           const PoolOptions& options);

}  // namespace ergon::act
