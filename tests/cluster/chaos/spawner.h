// Processes that a node spawns on another one, and what becomes of them.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/gen/process.h>
#include <ergon/node/erlang.h>

#include <cluster/chaos/stage.h>

namespace ergon::chaos {

// What other nodes may spawn here.
void RegisterChildren(dist::ErlangOptions& options);

// One process after the other on `peer`, until the stage is stopping.
void SpawnOn(gen::Process& self, Stage& stage, const Peer& peer, const std::string& name,
             std::uint64_t seed);

}  // namespace ergon::chaos
