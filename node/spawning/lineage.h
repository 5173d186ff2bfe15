// What processes inherit: a leader and an environment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/node/delivery/addresses.h>
#include <ergon/node/process_state/environments.h>
#include <ergon/node/process_state/slot.h>
#include <ergon/node/spawning/node_environment.h>
#include <ergon/node/spawning/spawn_request.h>

namespace ergon::node {

class Lineage {
 public:
  Lineage(const Addresses& addresses, NodeEnvironment& environment)
      : addresses_(addresses), environment_(environment) {}

  // Both in the turn of `parent`; null: the process is spawned from outside of processes.
  // Returns the leader of a process that is about to be spawned; 0: the process itself.
  [[nodiscard]] static std::uint64_t LeaderOf(const SpawnRequest& request,
                                              const ProcessSlot* parent);
  // Returns false if it has no environment: neither one of its own nor one that it could inherit.
  [[nodiscard]] bool HasEnvironments(const SpawnRequest& request) const {
    return !request.options.environment.empty() || !environment_.IsUnused();
  }
  // Returns its own environment above what it inherits; null: an empty one.
  [[nodiscard]] SharedEnvironment EnvironmentOf(const SpawnRequest& request,
                                                const ProcessSlot* parent);
  // Sets a value of a process, in its own turns. Without a value the name is removed.
  void SetEnv(ProcessSlot& slot, std::string_view name, gen::AnyValue value);

 private:
  // Returns the environment of a process; null if it has none, or has ended.
  [[nodiscard]] SharedEnvironment EnvironmentOf(gen::PID pid) const;

  const Addresses& addresses_;
  NodeEnvironment& environment_;
};

}  // namespace ergon::node
