// What processes have from those before them: a leader, and an environment.
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

  // By whom a process that is about to be spawned is led; 0: by itself.
  [[nodiscard]] std::uint64_t LeaderOf(const SpawnRequest& request) const;
  // What it inherits; null: nothing.
  [[nodiscard]] SharedEnvironment EnvironmentOf(const SpawnRequest& request);
  // Of a process, in its own turns; without a value: the name goes.
  void SetEnv(ProcessSlot& slot, std::string_view name, gen::AnyValue value);

 private:
  // Null: it has none, or has ended.
  [[nodiscard]] SharedEnvironment EnvironmentOf(gen::PID pid) const;

  const Addresses& addresses_;
  NodeEnvironment& environment_;
};

}  // namespace ergon::node
